// A small HTTP server on loopback for tests of downloads: serves one file, with ranges, and can misbehave on purpose.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

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
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 16) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("no socket on loopback");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() {
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }

  std::string url(const std::string& path) const { return "http://127.0.0.1:" + std::to_string(port_) + path; }

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
  void serve() {
    while (!stopping_) {
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      answer(connection);
      close(connection);
    }
  }

  static std::string header(const std::string& head, const std::string& name) {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }

  void answer(int connection) {
    std::string head;
    char c = 0;
    while (head.size() < 16384 && head.find("\r\n\r\n") == std::string::npos && recv(connection, &c, 1, 0) == 1)
      head += c;
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
      return put(connection, "HTTP/1.1 302 Found\r\nLocation: " + b.redirect + "\r\n" + b.redirect_headers +
                                 "Content-Length: 0\r\nConnection: close\r\n\r\n");
    }
    if (b.n_unavailable > 0) b.status = 503;
    if (b.status != 200) {
      return put(connection,
                 "HTTP/1.1 " + std::to_string(b.status) + " No\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno");
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
      return put(connection, "HTTP/1.1 416 Range\r\nContent-Range: bytes */" + total +
                                 "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    std::string answer = start > 0 ? "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " + std::to_string(start) +
                                         "-" + std::to_string(b.body.size() - 1) + "/" + total + "\r\n"
                                   : "HTTP/1.1 200 OK\r\n";
    if (!b.etag.empty()) answer += "ETag: " + b.etag + "\r\n";
    answer +=
        b.extra_headers + "Content-Length: " + std::to_string(b.body.size() - start) + "\r\nConnection: close\r\n\r\n";
    put(connection, answer);
    const size_t end = cut ? std::min(b.body.size(), start + b.cut_after) : b.body.size();
    for (size_t at = start; at < end && !stopping_; at += 65536) {
      if (b.pause_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(b.pause_ms));
      const size_t n = std::min<size_t>(65536, end - at);
      put(connection, b.body.substr(at, n));
      n_body_bytes_ += n;
    }
  }

  static void put(int connection, const std::string& text) {
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = send(connection, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (n <= 0) return;
      done += static_cast<size_t>(n);
    }
  }

  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<size_t> n_body_bytes_ = 0;
  mutable std::mutex mutex_;
  Behaviour behaviour_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

}  // namespace tally::test
