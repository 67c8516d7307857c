// tally grammar: what a schema or grammar takes, and which tokens may follow a text.
#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "app/constraint.h"
#include "app/jsonl.h"
#include "app/model_path.h"
#include "app/tokenizer_from_gguf.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/grammar_check.h"
#include "text/grammar/constraint_error.h"

namespace tally::cli {
namespace {

using nlohmann::ordered_json;

struct Options {
  std::string model;
  bool jsonl = false;
};

// Where masks come from: the model, or the line, or single bytes.
struct Vocabularies {
  std::optional<gguf::File> file;
  std::optional<text::Tokenizer> tokenizer;
  std::shared_ptr<grammar::MaskVocabulary> own;  // of the model, else bytes
};

const std::string& text_of(const ordered_json& line, const char* key) {
  const ordered_json& value = line.at(key);
  if (!value.is_string()) fail(ErrorCode::BadInput, "\"{}\" is a JSON {}, expected a string", key, value.type_name());
  return value.get_ref<const std::string&>();
}

std::string from_hex(const std::string& hex) {
  const auto digit = [&](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if ((c | 32) >= 'a' && (c | 32) <= 'f') return (c | 32) - 'a' + 10;
    fail(ErrorCode::BadInput, "\"{}\" is not hexadecimal", hex.substr(0, 40));
  };
  if (hex.size() % 2 != 0) fail(ErrorCode::BadInput, "\"{}\" has an odd number of digits", hex.substr(0, 40));
  std::string out;
  for (size_t i = 0; i < hex.size(); i += 2) out += static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1]));
  return out;
}

std::shared_ptr<grammar::MaskVocabulary> vocabulary_of(const ordered_json& line, const Vocabularies& all) {
  const auto vocab = line.find("vocab");
  if (vocab == line.end()) return all.own;
  std::vector<std::string> tokens;
  for (const ordered_json& token : vocab->at("tokens")) tokens.push_back(from_hex(token.get<std::string>()));
  const auto end = vocab->at("end").get<int64_t>();
  if (end < 0 || end > (1 << 26)) fail(ErrorCode::BadInput, "\"end\" is {}, expected an id", end);
  if (tokens.size() <= static_cast<size_t>(end)) tokens.resize(static_cast<size_t>(end) + 1);
  return std::make_shared<grammar::MaskVocabulary>(
      grammar::TokenTrie(tokens, std::vector<int32_t>{static_cast<int32_t>(end)}));
}

// Ids 0 to 255 are the bytes, 256 ends the text.
std::shared_ptr<grammar::MaskVocabulary> byte_vocabulary() {
  std::vector<std::string> tokens(257);
  for (int b = 0; b < 256; ++b) tokens[static_cast<size_t>(b)] = static_cast<char>(b);
  return std::make_shared<grammar::MaskVocabulary>(grammar::TokenTrie(tokens, std::vector<int32_t>{256}));
}

std::shared_ptr<const grammar::Automaton> compile(const ordered_json& line, std::vector<std::string>& warnings) {
  int n = 0;
  for (const char* key : {"schema", "schema_text", "schema_base64", "grammar"}) n += line.contains(key);
  if (n != 1)
    fail(ErrorCode::BadInput, "expected one of \"schema\", \"schema_text\", \"schema_base64\" and \"grammar\"");
  if (line.contains("grammar")) return app::compile_grammar(text_of(line, "grammar"));
  if (line.contains("schema")) return app::compile_schema(line.at("schema").dump(), &warnings);
  if (line.contains("schema_text")) return app::compile_schema(text_of(line, "schema_text"), &warnings);
  const auto bytes = base64_decode(text_of(line, "schema_base64"));
  if (!bytes) fail(ErrorCode::BadInput, "\"schema_base64\" is not base64 (standard alphabet, with padding)");
  return app::compile_schema({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, &warnings);
}

Splits splits_of(const ordered_json& line, bool has_tokens) {
  const auto splits = line.find("splits");
  if (splits == line.end()) return has_tokens ? Splits::Tokens : Splits::Bytes;
  for (const auto& [name, value] :
       {std::pair("bytes", Splits::Bytes), {"tokens", Splits::Tokens}, {"random", Splits::Random}})
    if (*splits == name) return value;
  fail(ErrorCode::BadInput, "\"splits\" is {}, expected \"bytes\", \"tokens\" or \"random\"",
       splits->dump().substr(0, 40));
}

ordered_json times_of(std::vector<double> us) {
  if (us.empty()) return {{"median", nullptr}, {"p99", nullptr}, {"max", nullptr}, {"n", 0}};
  std::sort(us.begin(), us.end());
  const auto at = [&](double q) {
    return us[std::min(us.size() - 1, static_cast<size_t>(q * static_cast<double>(us.size())))];
  };
  return {{"median", at(0.5)}, {"p99", at(0.99)}, {"max", us.back()}, {"n", us.size()}};
}

ordered_json check(const Vocabularies& all, const ordered_json& line) {
  const auto vocabulary = vocabulary_of(line, all);
  const Splits splits = splits_of(line, all.tokenizer || line.contains("vocab"));
  std::vector<std::string> warnings;
  const uint64_t begin = now_ns();
  const auto automaton = compile(line, warnings);
  TextFeeder feeder(automaton, vocabulary, all.tokenizer && !line.contains("vocab") ? &*all.tokenizer : nullptr, splits,
                    line.value("seed", uint64_t(0)));
  const double compile_ms = static_cast<double>(now_ns() - begin) * 1e-6;
  ordered_json refused = ordered_json::array(), accepted = ordered_json::array();
  int n_either = 0;
  for (const char* list : {"accept", "reject", "either"}) {
    const auto texts = line.find(list);
    if (texts == line.end() || texts->is_null()) continue;
    if (!texts->is_array())
      fail(ErrorCode::BadInput, "\"{}\" is a JSON {}, expected an array", list, texts->type_name());
    for (const ordered_json& text : *texts) {
      const auto& bytes = text.get_ref<const std::string&>();
      const TextVerdict verdict = feeder.feed(bytes);
      if (*list == 'a' && !verdict.accepted) refused.push_back({{"text", bytes}, {"at", verdict.at}});
      if (*list == 'r' && verdict.accepted) accepted.push_back(bytes);
      n_either += *list == 'e' && verdict.accepted;
    }
  }
  ordered_json out{{"compiled", true},
                   {"compile_ms", compile_ms},
                   {"states", automaton->n_instrs()},
                   {"bytes", automaton->memory_bytes()},
                   {"wrongly_refused", refused},
                   {"wrongly_accepted", accepted},
                   {"either_accepted", n_either},
                   {"mask_us", times_of(feeder.mask_us())},
                   {"warnings", warnings}};
  if (line.value("samples", false)) out["mask_us"]["samples"] = feeder.mask_us();
  return out;
}

ordered_json mask(const Vocabularies& all, const ordered_json& line) {
  const auto vocabulary = vocabulary_of(line, all);
  std::vector<std::string> warnings;
  grammar::Matcher matcher(compile(line, warnings));
  grammar::Masker masker(matcher, vocabulary);
  const std::string prefix = line.contains("prefix") ? from_hex(text_of(line, "prefix")) : "";
  ordered_json allowed = ordered_json::array();
  if (!matcher.accept(prefix)) return {{"alive", false}, {"allowed", allowed}, {"end", false}, {"us", 0}};
  const uint64_t begin = now_ns();
  const auto row = masker.row();
  const double us = static_cast<double>(now_ns() - begin) * 1e-3;
  const int32_t n = vocabulary->trie().n_tokens();
  const auto has = [&](int32_t id) { return (row[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0; };
  for (int32_t first = 0; first < n; ++first) {
    if (!has(first)) continue;
    int32_t last = first;
    while (last + 1 < n && has(last + 1)) ++last;
    allowed.push_back({first, last});
    first = last;
  }
  return {{"alive", true}, {"allowed", allowed}, {"end", matcher.can_end()}, {"us", us}};
}

void serve(const Options& o, ordered_json (*handle)(const Vocabularies&, const ordered_json&)) {
  if (!o.jsonl) fail(ErrorCode::Usage, "give --jsonl, and one request a line on standard input");
  Vocabularies all;
  if (o.model.empty()) {
    all.own = byte_vocabulary();
  } else {
    all.file.emplace(gguf::File::open(app::find_model(o.model)));
    all.tokenizer.emplace(app::tokenizer_from_gguf(all.file->metadata()));
    all.own = app::mask_vocabulary(*all.tokenizer);
  }
  app::run_jsonl_ordered(std::cin, std::cout, [&](const ordered_json& line) -> ordered_json {
    try {
      return handle(all, line);
    } catch (const grammar::ConstraintError& e) {
      return {{"error", app::constraint_error(e)}};
    }
  });
}

}  // namespace

void add_grammar(CLI::App& app) {
  CLI::App* command = app.add_subcommand("grammar", "schemas and grammars that a text must obey");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, const char* lines, auto* handle) {
    auto o = std::make_shared<Options>();
    CLI::App* c = command->add_subcommand(name, what);
    c->add_option("MODEL", o->model, "whose vocabulary to use (default: single bytes, 256 ends the text)");
    c->add_flag("--jsonl", o->jsonl, lines);
    c->callback([o, handle] { serve(*o, handle); });
  };
  add("check", "which texts a schema or grammar takes, how fast it compiles and masks",
      "one JSON object a line from standard input, {\"schema\" or \"schema_text\" or \"schema_base64\" or "
      "\"grammar\",\n"
      "\"accept\":[…], \"reject\":[…], \"either\":[…], \"splits\":\"bytes\"|\"tokens\"|\"random\", \"seed\":0,\n"
      "\"samples\":false}; one a line to standard output, {\"compiled\", \"compile_ms\", \"states\", \"bytes\",\n"
      "\"wrongly_refused\", \"wrongly_accepted\", \"either_accepted\", \"mask_us\", \"warnings\"}",
      check);
  add("mask", "which tokens may follow a text",
      "one JSON object a line from standard input, {\"schema\" or \"grammar\", \"vocab\":{\"tokens\":[hex],\n"
      "\"end\":id}, \"prefix\":hex}; one a line to standard output, {\"alive\", \"allowed\":[[first,last],…],\n"
      "\"end\", \"us\"}",
      mask);
}

}  // namespace tally::cli
