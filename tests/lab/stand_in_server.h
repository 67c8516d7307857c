// A server on loopback that answers each POST with what a function says (as an event stream; empty text: status 500).
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

namespace tally::test {

class StandInServer {
 public:
  // head, body, number of the request from 0 → body of the answer.
  using Answer = std::function<std::string(const std::string& head, const std::string& body, int n)>;

  explicit StandInServer(Answer answer) : answer_(std::move(answer)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 16) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no socket on loopback");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      while (!stopping_) {
        const int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (connection < 0) continue;
        serve(connection);
        close(connection);
      }
    });
  }
  ~StandInServer() {
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

 private:
  static void put(int connection, const std::string& text) {
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = send(connection, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (n <= 0) return;
      done += size_t(n);
    }
  }

  void serve(int connection) {
    std::string head, body;
    char c = 0;
    while (head.size() < 16384 && head.find("\r\n\r\n") == std::string::npos && recv(connection, &c, 1, 0) == 1)
      head += c;
    const size_t at = head.find("Content-Length: ");
    const size_t n = at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
    if (head.find("Expect: 100-continue") != std::string::npos) put(connection, "HTTP/1.1 100 Continue\r\n\r\n");
    while (body.size() < n && recv(connection, &c, 1, 0) == 1) body += c;
    const std::string text = answer_(head, body, n_requests_++);
    put(connection, text.empty() ? "HTTP/1.1 500 No\r\nConnection: close\r\n\r\nno tools here"
                                 : "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + text);
  }

  Answer answer_;
  int listener_ = -1, port_ = 0, n_requests_ = 0;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace tally::test
