// A stand-in for a server of the OpenAI dialects: counts words as tokens and streams as many as were asked for.
#pragma once

#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "loopback.h"

namespace tally::test {

class EndpointServer {
 public:
  bool usage = true;        // reports token counts
  int template_tokens = 5;  // on top of the words
  int pause_us = 2000;      // between tokens
  std::string error;        // answered with status 500 when set

  EndpointServer() {
    loopback_.start([this](int connection) { answer(connection); });
  }
  ~EndpointServer() { loopback_.stop(); }
  std::string url() const { return loopback_.url(); }
  std::vector<nlohmann::json> bodies() const {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }

 private:
  void answer(int connection) {
    const std::string head = Loopback::read_head(connection), body = Loopback::read_body(connection, head);
    if (!error.empty()) return Loopback::put(connection, "HTTP/1.1 500 No\r\nConnection: close\r\n\r\n" + error);
    Loopback::put(connection, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    if (head.rfind("GET", 0) == 0) return Loopback::put(connection, R"({"data": [{"id": "stand-in"}]})");
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
      Loopback::put(connection, "data: " + nlohmann::json{{"choices", {choice}}}.dump() + "\n\n");
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
      Loopback::put(
          connection,
          "data: " + nlohmann::json{{"choices", nlohmann::json::array()}, {"usage", counts}}.dump() + "\r\n\r\n");
    }
    Loopback::put(connection, ": end\n\ndata: [DONE]\n\n");
  }

  mutable std::mutex mutex_;
  std::vector<nlohmann::json> bodies_;
  Loopback loopback_;
};

}  // namespace tally::test
