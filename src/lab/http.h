// A small HTTP client for endpoints of the OpenAI dialects: JSON in, JSON or a stream of events out, with times.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "lab/output.h"

namespace tally::lab {

class HttpClient {
 public:
  // base: "http://HOST:PORT" with or without "/v1". timeout_s: of one request. The environment variable TALLY_API_KEY,
  // when set, is sent as the bearer token.
  HttpClient(const std::string& base, double timeout_s);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  const std::string& base() const { return base_; }  // ends in "/v1"

  // path: "/models". Errors (Failed): no connection, timeout, a status other than 200 (with what the server said), an
  // answer that is no JSON.
  Json get(const std::string& path);
  Json post(const std::string& path, const Json& body);

  // Server-sent events: called with each event's JSON and the milliseconds since the request began.
  using OnEvent = std::function<void(const Json& event, double ms)>;
  void post_stream(const std::string& path, const Json& body, const OnEvent& on_event);

 private:
  struct Request;
  void perform(Request& request, const std::string& path, const std::string* body);

  std::string base_;
  double timeout_s_;
  void* curl_ = nullptr;  // CURL*, kept so that the connection is
};

}  // namespace tally::lab
