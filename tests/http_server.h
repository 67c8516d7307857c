// A small HTTP server on loopback for tests of downloads: serves one file, with ranges, and can misbehave on purpose.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "loopback.h"

namespace tally::test {

class HttpServer {
 public:
  // What the server does; changed between requests by the test.
  struct Behaviour {
    std::string body;
    std::string etag = "\"v1\"";   // empty: none is sent
    std::string extra_headers;     // whole lines, each ending in \r\n
    int status = 200;              // anything else than 200 is answered as such
    int n_unavailable = 0;         // so many requests get 503 first
    bool ranges = true;            // false: always the whole file
    bool check_if_range = true;    // false: ranges of a changed file too
    size_t cut_after = SIZE_MAX;   // closes the connection after so many bytes of the body …
    int n_cuts = 0;                // … so many times
    int pause_ms = 0;              // before each 64 KiB
    std::string redirect;          // answered to paths that begin with /redirect
    std::string redirect_headers;  // with these headers
  };

  HttpServer() {
    loopback_.start([this](int connection) { answer(connection); });
  }
  ~HttpServer() { loopback_.stop(); }

  std::string url(const std::string& path) const { return loopback_.url() + path; }

  void set(Behaviour behaviour) {
    const std::lock_guard lock(mutex_);
    behaviour_ = std::move(behaviour);
  }

  // Request heads so far.
  std::vector<std::string> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  size_t n_body_bytes() const { return n_body_bytes_; }

 private:
  static std::string header(const std::string& head, const std::string& name) {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }

  void answer(int connection) {
    const std::string head = Loopback::read_head(connection);
    Behaviour b;
    bool cut = false;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(head);
      b = behaviour_;
      if (behaviour_.n_unavailable > 0) --behaviour_.n_unavailable;
      cut = behaviour_.n_cuts > 0;
      if (cut) --behaviour_.n_cuts;
    }
    if (!b.redirect.empty() && head.rfind("GET /redirect", 0) == 0) {
      return Loopback::put(connection, "HTTP/1.1 302 Found\r\nLocation: " + b.redirect + "\r\n" + b.redirect_headers +
                                           "Content-Length: 0\r\nConnection: close\r\n\r\n");
    }
    if (b.n_unavailable > 0) b.status = 503;
    if (b.status != 200) {
      return Loopback::put(connection, "HTTP/1.1 " + std::to_string(b.status) +
                                           " No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
    }
    send_body(connection, head, b, cut);
  }

  void send_body(int connection, const std::string& head, const Behaviour& b, bool cut) {
    const std::string range = header(head, "Range");
    const std::string if_range = header(head, "If-Range");
    size_t start = 0;
    const bool same = if_range.empty() || if_range == b.etag || !b.check_if_range;
    if (b.ranges && same && range.rfind("bytes=", 0) == 0) start = std::stoull(range.substr(6));
    const std::string total = std::to_string(b.body.size());
    if (start > 0 && start >= b.body.size()) {
      return Loopback::put(connection, "HTTP/1.1 416 Range\r\nContent-Range: bytes */" + total +
                                           "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    std::string answer = start > 0 ? "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + std::to_string(start) +
                                         "-" + std::to_string(b.body.size() - 1) + "/" + total + "\r\n"
                                   : "HTTP/1.1 200 OK\r\n";
    if (!b.etag.empty()) answer += "ETag: " + b.etag + "\r\n";
    answer +=
        b.extra_headers + "Content-Length: " + std::to_string(b.body.size() - start) + "\r\nConnection: close\r\n\r\n";
    Loopback::put(connection, answer);
    const size_t end = cut ? std::min(b.body.size(), start + b.cut_after) : b.body.size();
    for (size_t at = start; at < end && !loopback_.stopping(); at += 65536) {
      if (b.pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(b.pause_ms));
      const size_t n = std::min<size_t>(65536, end - at);
      Loopback::put(connection, b.body.substr(at, n));
      n_body_bytes_ += n;
    }
  }

  std::atomic<size_t> n_body_bytes_ = 0;
  mutable std::mutex mutex_;
  Behaviour behaviour_;
  std::vector<std::string> requests_;
  Loopback loopback_;
};

}  // namespace tally::test
