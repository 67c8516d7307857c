// What the test servers share: a socket on loopback, one connection after another, and the bytes of a request.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace tally::test {

class Loopback {
 public:
  // Serves from start() on; the function answers on a connection, which is closed after it.
  void start(std::function<void(int connection)> answer) {
    answer_ = std::move(answer);
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
  // To be called before what the function uses goes away.
  void stop() {
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  bool stopping() const { return stopping_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  static void put(int connection, const std::string& text) {
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = send(connection, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (n <= 0) return;
      done += static_cast<size_t>(n);
    }
  }
  static std::string read_head(int connection) {
    std::string head;
    char c = 0;
    while (head.size() < 16384 && head.find("\r\n\r\n") == std::string::npos && recv(connection, &c, 1, 0) == 1)
      head += c;
    return head;
  }
  static std::string read_body(int connection, const std::string& head) {
    const size_t at = head.find("Content-Length: ");
    const size_t n = at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
    if (head.find("Expect: 100-continue") != std::string::npos) put(connection, "HTTP/1.1 100 Continue\r\n\r\n");
    std::string body;
    char c = 0;
    while (body.size() < n && recv(connection, &c, 1, 0) == 1) body += c;
    return body;
  }

 private:
  void serve() {
    while (!stopping_) {
      const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      answer_(connection);
      close(connection);
    }
  }

  std::function<void(int)> answer_;
  int listener_ = -1, port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace tally::test
