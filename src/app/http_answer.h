// The headers of an HTTP answer that a download needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tally::app {

struct HttpAnswer {
  long status = 0;
  std::string etag;
  std::string last_modified;
  std::optional<uint64_t> length;       // Content-Length
  std::optional<uint64_t> range_start;  // Content-Range: bytes start-end/total
  std::optional<uint64_t> range_total;
  std::string
      linked_sha256;  // some hubs name the file's SHA-256 in a header of the redirection to it; kept across answers

  // Takes one header line; a status line begins a new answer (the earlier one was a redirection).
  void add_line(const std::string& line);

  bool is_content() const { return status == 200 || status == 206; }

  // What identifies this version of the file in an If-Range header: a strong ETag, else the date, else nothing.
  std::string validator() const;
};

}  // namespace tally::app
