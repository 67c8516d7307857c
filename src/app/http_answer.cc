#include "app/http_answer.h"

#include <strings.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "app/sha256.h"

namespace tally::app {

namespace {

std::optional<uint64_t> parse_number(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// The value of "Name: value" when the line has that name.
std::optional<std::string> header_value(const std::string& line, const char* name) {
  const size_t n = std::strlen(name);
  if (line.size() <= n || line[n] != ':' || strncasecmp(line.c_str(), name, n) != 0) return std::nullopt;
  const size_t first = line.find_first_not_of(" \t\r\n", n + 1);
  if (first == std::string::npos) return std::string();
  return line.substr(first, line.find_last_not_of(" \t\r\n") + 1 - first);
}

}  // namespace

void HttpAnswer::add_line(const std::string& line) {
  if (line.rfind("HTTP/", 0) == 0) {
    const std::string kept = linked_sha256;
    *this = HttpAnswer{};
    linked_sha256 = kept;
    const size_t space = line.find(' ');
    if (space != std::string::npos)
      status = static_cast<long>(parse_number(std::string_view(line).substr(space + 1)).value_or(0));
    return;
  }
  if (const auto v = header_value(line, "ETag")) etag = *v;
  if (const auto v = header_value(line, "Last-Modified")) last_modified = *v;
  if (const auto v = header_value(line, "Content-Length")) length = parse_number(*v);
  if (const auto v = header_value(line, "Content-Range"); v && v->rfind("bytes ", 0) == 0) {
    range_start = parse_number(std::string_view(*v).substr(6));
    const size_t slash = v->find('/');
    if (slash != std::string::npos) range_total = parse_number(std::string_view(*v).substr(slash + 1));
  }
  if (const auto v = header_value(line, "X-Linked-ETag"); v && v->size() == 66 && is_sha256(v->substr(1, 64))) {
    linked_sha256 = v->substr(1, 64);
  }
}

std::string HttpAnswer::validator() const {
  if (!etag.empty() && etag[0] == '"') return etag;
  return last_modified;
}

}  // namespace tally::app
