#include "app/download.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <system_error>
#include <thread>

#include "app/cache.h"
#include "app/http_answer.h"
#include "app/sha256.h"
#include "base/check.h"
#include "base/error.h"

namespace tally::app {

namespace fs = std::filesystem;

namespace {

// One transfer into the partial file.
struct Transfer {
  const Download* request = nullptr;
  HttpAnswer answer;
  uint64_t resume_at = 0;  // bytes that we have and asked to go on from
  std::string validator;   // of those bytes
  bool changed = false;    // the server sent a range of another version
  uint64_t received = 0;   // body bytes of this transfer
  std::FILE* file = nullptr;
  bool body_started = false;
  std::string problem;  // set by a callback that stops the transfer for good
  ErrorCode problem_code = ErrorCode::BadInput;
  Progress* progress = nullptr;
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

size_t on_header(char* data, size_t size, size_t n, void* user) {
  static_cast<Transfer*>(user)->answer.add_line(std::string(data, size * n));
  return size * n;
}

struct Origin {
  std::string url, validator, sha256;
};

void write_origin(const fs::path& target, const Origin& origin) {
  std::ofstream out(validator_path(target), std::ios::binary | std::ios::trunc);
  out << origin.url << '\n' << origin.validator << '\n' << origin.sha256 << '\n';
}

Origin read_origin(const fs::path& target) {
  std::ifstream in(validator_path(target), std::ios::binary);
  Origin origin;
  std::getline(in, origin.url) && std::getline(in, origin.validator) && std::getline(in, origin.sha256);
  return origin;
}

// Before the first body byte: from where it counts, and whether the disk has room.
bool start_body(Transfer* transfer) {
  transfer->body_started = true;
  const HttpAnswer& answer = transfer->answer;
  const fs::path partial = partial_path(transfer->request->target);
  if (answer.status == 206) {
    if (answer.range_start != transfer->resume_at) {
      transfer->problem = "the server sent another range than asked for";
      return false;
    }
    const std::string now = answer.validator();
    transfer->changed = !now.empty() && !transfer->validator.empty() && now != transfer->validator;
    if (transfer->changed) return false;
  } else if (transfer->resume_at > 0) {  // 200: the whole file again
    transfer->resume_at = 0;
    if (ftruncate(fileno(transfer->file), 0) != 0) {
      transfer->problem = fmt::format("{}: cannot be written: {}", partial.string(), std::strerror(errno));
      return false;
    }
  }
  write_origin(transfer->request->target, {transfer->request->url, answer.validator(), answer.linked_sha256});
  const uint64_t todo = answer.length.value_or(0);
  std::error_code ignored;
  const fs::space_info space = fs::space(partial.parent_path(), ignored);
  if (!ignored && space.available < todo) {
    transfer->problem = fmt::format("{} are needed in {}, {} are free", human_bytes(todo),
                                    partial.parent_path().string(), human_bytes(space.available));
    transfer->problem_code = ErrorCode::Resources;
    return false;
  }
  transfer->progress->begin(transfer->resume_at, answer.length ? transfer->resume_at + todo : 0);
  return true;
}

size_t on_body(char* data, size_t size, size_t n, void* user) {
  auto* transfer = static_cast<Transfer*>(user);
  if (!transfer->answer.is_content()) return size * n;  // an error page
  if (!transfer->body_started && !start_body(transfer)) return 0;
  if (std::fwrite(data, 1, size * n, transfer->file) != size * n) {
    transfer->problem =
        fmt::format("{}: writing failed: {}", partial_path(transfer->request->target).string(), std::strerror(errno));
    transfer->problem_code = ErrorCode::Resources;
    return 0;
  }
  transfer->received += size * n;
  transfer->progress->update(transfer->resume_at + transfer->received);
  return size * n;
}

void set_options(CURL* curl, Transfer* transfer, curl_slist* headers) {
  const Download& request = *transfer->request;
  const bool secure = request.url.rfind("https:", 0) == 0;
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, secure ? "https" : "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "tally");
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 20L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.stall_seconds));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
}

// Bytes that may be continued: only those of the same address, with something that tells the version.
uint64_t resumable_bytes(const Download& request, Origin* origin) {
  std::error_code error;
  const uint64_t bytes = fs::file_size(partial_path(request.target), error);
  if (error) return 0;
  *origin = read_origin(request.target);
  const bool known = origin->url == request.url && (!origin->validator.empty() || !request.sha256.empty());
  return known ? bytes : 0;
}

enum class Outcome { Complete, Retry };

// What the end of a transfer means. `why` says what went wrong when it returns Retry.
Outcome judge(const Download& request, const Transfer& transfer, CURLcode code, std::string* why) {
  if (!transfer.problem.empty()) fail(transfer.problem_code, "{}: {}", request.url, transfer.problem);
  const HttpAnswer& answer = transfer.answer;
  const fs::path partial = partial_path(request.target);
  if (answer.status == 416 && transfer.resume_at > 0 && answer.range_total == transfer.resume_at) {
    return Outcome::Complete;  // we had all of it already
  }
  const bool is_shorter = answer.status == 416 && transfer.resume_at > 0;
  const bool is_empty = code == CURLE_OK && answer.is_content() && !transfer.body_started;
  if (transfer.changed || is_shorter || is_empty) {  // from the start
    std::error_code ignored;
    fs::remove(partial, ignored);
    *why = is_empty ? "the server's answer is empty" : "the server's file has changed since its first part was fetched";
    return Outcome::Retry;
  }
  if (code == CURLE_OK && answer.is_content()) {
    if (std::fflush(transfer.file) == 0) return Outcome::Complete;
    fail(ErrorCode::Resources, "{}: writing failed: {}", partial.string(), std::strerror(errno));
  }
  if (code == CURLE_OK && (answer.status == 429 || answer.status >= 500)) {
    *why = fmt::format("the server answered {}", answer.status);
    return Outcome::Retry;
  }
  if (code == CURLE_OK) {
    fail(ErrorCode::BadInput, "{}: the server answered {}, expected 200; check the address{}", request.url,
         answer.status, answer.status == 401 || answer.status == 403 ? " (it may need an account)" : "");
  }
  if (code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_URL_MALFORMAT || code == CURLE_TOO_MANY_REDIRECTS) {
    fail(ErrorCode::BadInput, "{}: {}; expected an address of http or https", request.url, curl_easy_strerror(code));
  }
  *why = curl_easy_strerror(code);
  return Outcome::Retry;
}

// One request. `why` says what went wrong when it returns Retry; `progressed` whether it brought new bytes.
Outcome transfer_once(const Download& request, Progress* progress, std::string* linked_sha256, std::string* why,
                      bool* progressed) {
  Origin origin;
  Transfer transfer;
  transfer.request = &request;
  transfer.progress = progress;
  transfer.resume_at = resumable_bytes(request, &origin);
  transfer.validator = origin.validator;
  transfer.answer.linked_sha256 = origin.url == request.url ? origin.sha256 : "";
  const fs::path partial = partial_path(request.target);
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(partial.c_str(), transfer.resume_at > 0 ? "ab" : "wb"));
  if (!file) fail(ErrorCode::BadInput, "{}: cannot be written: {}", partial.string(), std::strerror(errno));
  transfer.file = file.get();

  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), curl_easy_cleanup);
  CHECK(curl != nullptr);
  curl_slist* headers = nullptr;
  if (transfer.resume_at > 0) {
    headers = curl_slist_append(headers, fmt::format("Range: bytes={}-", transfer.resume_at).c_str());
    if (!origin.validator.empty()) headers = curl_slist_append(headers, ("If-Range: " + origin.validator).c_str());
  }
  const std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> free_headers(headers, curl_slist_free_all);
  set_options(curl.get(), &transfer, headers);
  const CURLcode code = curl_easy_perform(curl.get());
  *progressed = transfer.received > 0;
  *linked_sha256 = transfer.answer.linked_sha256;

  return judge(request, transfer, code, why);
}

}  // namespace

void download(const Download& request) {
  static const CURLcode initialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(initialised == CURLE_OK);
  Progress progress(request.target.filename().string(), request.progress);
  std::string linked_sha256;
  int n_failures = 0;
  while (true) {
    std::string why;
    bool progressed = false;
    if (transfer_once(request, &progress, &linked_sha256, &why, &progressed) == Outcome::Complete) break;
    n_failures = progressed ? 1 : n_failures + 1;
    if (n_failures > request.n_retries) {
      fail(ErrorCode::BadInput, "{}: {} (after {} tries); what was fetched stays, the same command goes on from there",
           request.url, why, n_failures);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(request.retry_pause_ms << std::min(n_failures - 1, 6)));
  }
  accept_model_file(partial_path(request.target), request.target, 0,
                    request.sha256.empty() ? linked_sha256 : request.sha256, request.url);
  std::error_code ignored;
  fs::remove(validator_path(request.target), ignored);
}

void accept_model_file(const fs::path& complete, const fs::path& target, uint64_t bytes, const std::string& sha256,
                       const std::string& origin) {
  const auto refuse = [&](const std::string& why) {
    std::error_code ignored;
    fs::remove(complete, ignored);
    fs::remove(validator_path(target), ignored);
    fail(ErrorCode::BadInput, "{}: {}; it was removed, fetch it again or from elsewhere", origin, why);
  };
  const uint64_t found_bytes = fs::file_size(complete);
  if (bytes != 0 && found_bytes != bytes) refuse(fmt::format("has {} bytes, expected {}", found_bytes, bytes));
  char magic[4] = {};
  std::ifstream(complete, std::ios::binary).read(magic, sizeof magic);
  if (std::memcmp(magic, "GGUF", 4) != 0) refuse("is not a GGUF file (it does not begin with the bytes GGUF)");
  if (!sha256.empty()) {
    std::string expected = sha256;
    std::transform(expected.begin(), expected.end(), expected.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::string found = sha256_of_file(complete);
    if (found != expected) refuse(fmt::format("has SHA-256 {}, expected {}", found, expected));
  }
  const int fd = open(complete.c_str(), O_RDONLY | O_CLOEXEC);
  const bool durable = fd >= 0 && fsync(fd) == 0;
  if (fd >= 0) close(fd);
  std::error_code error;
  fs::rename(complete, target, error);
  if (!durable || error) fail(ErrorCode::Resources, "{}: could not be stored as {}", origin, target.string());
}

}  // namespace tally::app
