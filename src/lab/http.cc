#include "lab/http.h"

#include <curl/curl.h>

#include <exception>

#include "app/jsonl.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/error.h"

namespace tally::lab {

namespace {

constexpr size_t kBodyMax = size_t(256) << 20;

}  // namespace

struct HttpClient::Request {
  std::string body;    // of the answer; of a stream: the line so far
  size_t n_bytes = 0;  // of the answer in all
  const OnEvent* on_event = nullptr;
  std::exception_ptr thrown;  // inside the callback; curl is C
  uint64_t begin_ns = 0;
  CURL* curl = nullptr;

  // A stream's lines: "data: {…}", blank ones, ": comment", "event: …".
  void lines() {
    for (size_t end; (end = body.find('\n')) != std::string::npos; body.erase(0, end + 1)) {
      std::string line = body.substr(0, end);
      if (!line.empty() && line.back() == '\r') line.pop_back();
      if (line.rfind("data:", 0) != 0) continue;
      std::string data =
          line.substr(line.find_first_not_of(' ', 5) == std::string::npos ? 5 : line.find_first_not_of(' ', 5));
      if (data == "[DONE]" || data.empty()) continue;
      (*on_event)(app::parse_json_ordered(data), double(now_ns() - begin_ns) / 1e6);
    }
  }

  void take(const char* data, size_t n) {
    n_bytes += n;
    if (n_bytes > kBodyMax) fail(ErrorCode::Failed, "the server's answer has more than {} bytes", kBodyMax);
    body.append(data, n);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (on_event && status == 200) lines();
  }

  static size_t on_data(char* data, size_t size, size_t n, void* user) {
    auto* self = static_cast<Request*>(user);
    try {
      self->take(data, size * n);
      return size * n;
    } catch (...) {
      self->thrown = std::current_exception();
      return 0;
    }
  }
};

HttpClient::HttpClient(const std::string& base, double timeout_s) : base_(base), timeout_s_(timeout_s) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(initialised == CURLE_OK);
  while (!base_.empty() && base_.back() == '/') base_.pop_back();
  if (base_.size() < 3 || base_.compare(base_.size() - 3, 3, "/v1") != 0) base_ += "/v1";
  curl_ = curl_easy_init();
  CHECK(curl_ != nullptr);
}

HttpClient::~HttpClient() { curl_easy_cleanup(static_cast<CURL*>(curl_)); }

void HttpClient::perform(Request& request, const std::string& path, const std::string* body) {
  CURL* curl = static_cast<CURL*>(curl_);
  std::string url = base_ + path;
  curl_easy_reset(curl);
  curl_slist* list = curl_slist_append(nullptr, "Content-Type: application/json");
  if (auto key = env("TALLY_API_KEY")) list = curl_slist_append(list, ("Authorization: Bearer " + *key).c_str());
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(list, curl_slist_free_all);
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "tally");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 20L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_s_ * 1e3));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, Request::on_data);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &request);
  if (body) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->c_str());
  }
  request.curl = curl;
  request.begin_ns = now_ns();
  CURLcode code = curl_easy_perform(curl);
  if (request.thrown) std::rethrow_exception(request.thrown);
  if (code != CURLE_OK) fail(ErrorCode::Failed, "{}: {}; is the server running there?", url, curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (status != 200)
    fail(ErrorCode::Failed, "{}: the server answered {}, expected 200: {}", url, status, request.body.substr(0, 500));
}

Json HttpClient::get(const std::string& path) {
  Request request;
  perform(request, path, nullptr);
  return app::parse_json_ordered(request.body);
}

Json HttpClient::post(const std::string& path, const Json& body) {
  Request request;
  std::string text = app::dump_json(body);
  perform(request, path, &text);
  return app::parse_json_ordered(request.body);
}

void HttpClient::post_stream(const std::string& path, const Json& body, const OnEvent& on_event) {
  Request request;
  request.on_event = &on_event;
  std::string text = app::dump_json(body);
  perform(request, path, &text);
  request.body += '\n';
  request.lines();
}

}  // namespace tally::lab
