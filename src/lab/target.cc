#include "lab/target.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>

#include "app/model_path.h"
#include "base/check.h"
#include "base/error.h"
#include "lab/target_kinds.h"

namespace tally::lab {

std::string TestShape::name() const {
  std::string s = n_prompt > 0 ? fmt::format("pp{}", n_prompt) : fmt::format("tg{}", n_gen);
  if (depth > 0) s += fmt::format("@d{}", depth);
  if (batch > 1) s += fmt::format("@b{}", batch);
  return s;
}

std::unique_ptr<Target> open_target(const std::string& spec, const TargetOptions& options) {
  auto starts = [&](const std::string& prefix) { return spec.rfind(prefix, 0) == 0; };
  auto after = [&](const std::string& prefix) { return spec.substr(prefix.size()); };
  if (starts("--") || spec.empty()) return open_tally_target(spec, options);
  if (spec == "tally" || starts("tally ")) return open_tally_target(after("tally"), options);
  if (starts("tally:")) return open_tally_program(after("tally:"), options);
  if (starts("llama-bench:")) return open_llama_bench(after("llama-bench:"), options);
  if (starts("json:")) return open_json_command(after("json:"), options);
  if (starts("http://") || starts("https://")) return open_endpoint(spec, options);
  if (starts("cmd:")) return open_shell_command(after("cmd:"), options);
  fail(ErrorCode::Usage, "\"{}\" is no target; expected one of:\n{}", spec, kTargetHelp);
}

std::string sha256_of(const void* data, size_t size) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int n = 0;
  CHECK(EVP_Digest(data, size, digest, &n, EVP_sha256(), nullptr) == 1);
  std::string hex;
  for (unsigned int i = 0; i < n; ++i) hex += fmt::format("{:02x}", digest[i]);
  return hex;
}

std::string sha256_of_ids(std::span<const int32_t> ids) { return sha256_of(ids.data(), ids.size_bytes()); }

std::string model_path_of(const TargetOptions& options, const std::string& target) {
  if (options.model.empty()) fail(ErrorCode::Usage, "{}: needs a MODEL", target);
  return app::find_model(options.model);
}

std::string fill_in(const std::string& text, const std::vector<std::pair<std::string, std::string>>& values) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = text[i] == '{' ? text.find('}', i) : std::string::npos;
    std::string name = end == std::string::npos ? "" : text.substr(i + 1, end - i - 1);
    bool is_name = !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string::npos;
    if (!is_name) {
      out += text[i++];
      continue;
    }
    auto found = std::find_if(values.begin(), values.end(), [&](const auto& v) { return v.first == name; });
    if (found == values.end()) fail(ErrorCode::Usage, "\"{}\": {{{}}} is no placeholder here", text, name);
    out += found->second;
    i = end + 1;
  }
  return out;
}

}  // namespace tally::lab
