// A server on loopback that answers each POST with what a function says (as an event stream; empty text: status 500).
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "loopback.h"

namespace tally::test {

class StandInServer {
 public:
  // head, body, number of the request from 0 → body of the answer.
  using Answer = std::function<std::string(const std::string& head, const std::string& body, int n)>;

  explicit StandInServer(Answer answer) : answer_(std::move(answer)) {
    loopback_.start([this](int connection) { serve(connection); });
  }
  ~StandInServer() { loopback_.stop(); }
  std::string url() const { return loopback_.url(); }

 private:
  void serve(int connection) {
    const std::string head = Loopback::read_head(connection), body = Loopback::read_body(connection, head);
    const std::string text = answer_(head, body, n_requests_++);
    Loopback::put(connection, text.empty() ? "HTTP/1.1 500 No\r\nConnection: close\r\n\r\nno tools here"
                                           : "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + text);
  }

  Answer answer_;
  int n_requests_ = 0;
  Loopback loopback_;
};

}  // namespace tally::test
