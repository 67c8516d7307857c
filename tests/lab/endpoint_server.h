// A stand-in for a server of the OpenAI dialects: counts words as tokens and streams as many as were asked for.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tally::test {

class EndpointServer {
 public:
  bool usage = true;        // reports token counts
  int template_tokens = 5;  // on top of the words
  int pause_us = 2000;      // between tokens
  std::string error;        // answered with status 500 when set

  EndpointServer() {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 16) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no socket on loopback");
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~EndpointServer() {
    stopping_ = true;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<nlohmann::json> bodies() const {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }

 private:
  void serve() {
    while (!stopping_) {
      int connection = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (connection < 0) continue;
      answer(connection);
      close(connection);
    }
  }

  static void put(int connection, const std::string& text) {
    for (size_t done = 0; done < text.size();) {
      ssize_t n = send(connection, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (n <= 0) return;
      done += size_t(n);
    }
  }

  void answer(int connection) {
    std::string head, body;
    char c = 0;
    while (head.size() < 16384 && head.find("\r\n\r\n") == std::string::npos && recv(connection, &c, 1, 0) == 1)
      head += c;
    size_t at = head.find("Content-Length: ");
    size_t n = at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
    if (head.find("Expect: 100-continue") != std::string::npos) put(connection, "HTTP/1.1 100 Continue\r\n\r\n");
    while (body.size() < n && recv(connection, &c, 1, 0) == 1) body += c;
    if (!error.empty()) return put(connection, "HTTP/1.1 500 No\r\nConnection: close\r\n\r\n" + error);
    put(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    if (head.rfind("GET", 0) == 0) return put(connection, R"({"data": [{"id": "stand-in"}]})");
    stream(connection, nlohmann::json::parse(body), head.find("/chat/") != std::string::npos);
  }

  void stream(int connection, const nlohmann::json& body, bool chat) {
    {
      const std::lock_guard lock(mutex_);
      bodies_.push_back(body);
    }
    std::string prompt = chat ? body["messages"][0]["content"] : body["prompt"];
    int n_words = 1, n_gen = body["max_tokens"];
    for (char ch : prompt) n_words += ch == ' ';
    auto event = [&](const nlohmann::json& choice) {
      put(connection, "data: " + nlohmann::json{{"choices", {choice}}}.dump() + "\n\n");
    };
    if (chat) event({{"delta", {{"role", "assistant"}, {"content", ""}}}});
    for (int i = 0; i < n_gen; ++i) {
      if (chat)
        event({{"delta", {{"content", " w"}}}});
      else
        event({{"text", " w"}});
      std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
    }
    event({{"text", ""}, {"finish_reason", "length"}});
    if (usage) {
      nlohmann::json counts{{"prompt_tokens", n_words + template_tokens}, {"completion_tokens", n_gen}};
      put(connection,
          "data: " + nlohmann::json{{"choices", nlohmann::json::array()}, {"usage", counts}}.dump() + "\r\n\r\n");
    }
    put(connection, ": end\n\ndata: [DONE]\n\n");
  }

  int listener_ = -1, port_ = 0;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  std::vector<nlohmann::json> bodies_;
  std::thread thread_;
};

}  // namespace tally::test
