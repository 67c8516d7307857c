#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "app/jsonl.h"
#include "base/clock.h"
#include "base/error.h"
#include "lab/child.h"
#include "lab/tokenizer_bench.h"
#include "text/pretokenize.h"

namespace tally::lab {

namespace fs = std::filesystem;

Encoded encode_ours(const text::Tokenizer& tokenizer, const TextWorkload& w, double at_least_ms) {
  Encoded e;
  for (const std::string& t : w.texts) e.ids.push_back(tokenizer.encode(t, false, false));  // warms
  uint64_t total = 0;
  size_t n = 0;
  while (e.passes == 0 || static_cast<double>(total) < at_least_ms * 1e6) {
    uint64_t begin = now_ns();
    for (const std::string& t : w.texts) n += tokenizer.encode(t, false, false).size();
    total += now_ns() - begin;
    ++e.passes;
  }
  e.ms = n > 0 ? static_cast<double>(total) / e.passes / 1e6 : 0;
  return e;
}

std::string hf_tokenizer_json(const text::TokenizerSpec& spec) {
  if (spec.model != "gpt2")
    fail(ErrorCode::BadInput,
         "{}: vocabulary of kind \"{}\"; a Hugging Face tokenizer can be built from byte-level BPE (\"gpt2\") "
         "only: give the model's own with --hf-tokenizer tokenizer.json",
         spec.file, spec.model);
  const text::PreInfo* pre = text::find_pre(spec.pre);
  if (!pre || pre->raw_utf8)
    fail(ErrorCode::BadInput,
         "{}: pre-tokenizer \"{}\" has no counterpart; give the model's own tokenizer with --hf-tokenizer", spec.file,
         spec.pre);
  Json steps = Json::array(), vocabulary = Json::object(), added = Json::array(), merges = Json::array();
  for (const text::PassSource& pass : text::pass_sources(pre->group)) {
    if (!pass.pattern)
      fail(ErrorCode::BadInput,
           "{}: pre-tokenizer \"{}\" has no pattern; give the model's own tokenizer with --hf-tokenizer", spec.file,
           spec.pre);
    steps.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", pass.pattern}}}, {"behavior", "Isolated"}, {"invert", false}});
  }
  steps.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}});
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    auto type = i < spec.types.size() ? spec.types[i] : 1;
    if (type == static_cast<int64_t>(text::TokenType::UserDefined))
      added.push_back({{"id", i},
                       {"content", spec.tokens[i]},
                       {"single_word", false},
                       {"lstrip", false},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", false}});
    vocabulary.push_back(Json::object_t::value_type(std::string(spec.tokens[i]), i));
  }
  for (std::string_view m : spec.merges) merges.push_back(m);
  Json model{{"type", "BPE"},
             {"dropout", nullptr},
             {"unk_token", nullptr},
             {"continuing_subword_prefix", nullptr},
             {"end_of_word_suffix", nullptr},
             {"fuse_unk", false},
             {"byte_fallback", false},
             {"ignore_merges", pre->ignore_merges},
             {"vocab", vocabulary},
             {"merges", merges}};
  return app::dump_json(
      {{"version", "1.0"},
       {"truncation", nullptr},
       {"padding", nullptr},
       {"added_tokens", added},
       {"normalizer", nullptr},
       {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", steps}}},
       {"post_processor", nullptr},
       {"decoder", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}}},
       {"model", model}});
}

RivalArgs parse_rival(const std::string& spec) {
  if (spec == "hf" || spec == "tiktoken") return {.kind = spec};
  if (!spec.starts_with("llama.cpp:") || spec.size() == 10)
    fail(ErrorCode::Usage,
         "--against \"{}\": hf, tiktoken or llama.cpp:PATH (libllama.so, or a program or folder beside it) expected",
         spec);
  fs::path path = spec.substr(10);
  if (path.filename().string().find("libllama") == std::string::npos) {
    fs::path folder = fs::is_directory(path) ? path : path.parent_path();
    path = folder / "libllama.so";
  }
  if (!fs::exists(path))
    fail(ErrorCode::BadInput, "--against {}: {} is not there; build llama.cpp with shared libraries", spec,
         path.string());
  return {.kind = "llama.cpp", .library = path.string()};
}

namespace {

Encoded encoded_of(const nlohmann::json& r, const std::string& who) {
  Encoded e;
  if (!r.is_object() || !r.contains("ms") || !r["ms"].is_number() || !(r["ms"].get<double>() > 0))
    fail(ErrorCode::Failed, "{}: its answer holds no time", who);
  e.ms = r["ms"].get<double>();
  if (auto passes = r.find("passes"); passes != r.end() && passes->is_number_integer()) e.passes = passes->get<int>();
  if (!r.contains("ids")) return e;
  for (const auto& list : r["ids"]) {
    e.ids.emplace_back();
    for (const auto& id : list) e.ids.back().push_back(id.is_number_integer() ? id.get<int32_t>() : -1);
  }
  return e;
}

}  // namespace

RivalRun run_rival(const RivalArgs& rival, const std::vector<TextWorkload>& workloads, const fs::path& folder,
                   double at_least_ms, bool want_ids) {
  Json order{{"kind", rival.kind},         {"library", rival.library},
             {"model", rival.model},       {"tokenizer_json", rival.tokenizer_json},
             {"at_least_ms", at_least_ms}, {"want_ids", want_ids},
             {"workloads", Json::array()}};
  for (const TextWorkload& w : workloads) order["workloads"].push_back({{"name", w.name}, {"texts", w.texts}});
  std::string path = (folder / "order.json").string();
  std::ofstream(path, std::ios::binary) << app::dump_json(order);
  ChildResult child = run_child({rival.python, "-c", kRivalDriver, path}, {.timeout_s = 600});
  if (child.status != 0) {
    std::string last = child.err;
    while (!last.empty() && last.back() == '\n') last.pop_back();
    last = last.substr(last.rfind('\n') + 1);
    fail(ErrorCode::Failed, "{} ({}) failed: {}", rival.kind, rival.python,
         last.empty() ? fmt::format("exit status {}", child.status) : last);
  }
  nlohmann::json answer = app::parse_json(child.out);
  if (!answer.is_object() || !answer.contains("results") || !answer["results"].is_object())
    fail(ErrorCode::Failed, "{}: no results in its answer", rival.kind);
  RivalRun run;
  if (auto v = answer.find("version"); v != answer.end() && v->is_string()) run.version = v->get<std::string>();
  for (const TextWorkload& w : workloads) {
    if (!answer["results"].contains(w.name)) fail(ErrorCode::Failed, "{}: no result for {}", rival.kind, w.name);
    run.of[w.name] = encoded_of(answer["results"][w.name], rival.kind);
  }
  return run;
}

std::string first_difference(const std::vector<std::vector<int32_t>>& ours,
                             const std::vector<std::vector<int32_t>>& theirs) {
  if (ours.size() != theirs.size()) return fmt::format("{} texts against {}", ours.size(), theirs.size());
  for (size_t t = 0; t < ours.size(); ++t) {
    size_t n = std::min(ours[t].size(), theirs[t].size());
    for (size_t i = 0; i < n; ++i)
      if (ours[t][i] != theirs[t][i])
        return fmt::format("text {}, token {}: {} against {}", t + 1, i, ours[t][i], theirs[t][i]);
    if (ours[t].size() != theirs[t].size())
      return fmt::format("text {}: {} tokens against {}", t + 1, ours[t].size(), theirs[t].size());
  }
  return "";
}

}  // namespace tally::lab
