// tally tokenize: text to token ids and back.
#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "app/jsonl.h"
#include "app/model_path.h"
#include "app/tokenizer_from_gguf.h"
#include "base/base64.h"
#include "base/error.h"
#include "cli/command.h"
#include "text/utf8.h"

namespace tally::cli {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct Options {
  std::string model;
  std::string text;
  std::vector<int32_t> ids;
  bool has_text = false, has_ids = false;
  bool no_add_special = false, special = false;
  bool jsonl = false, as_json = false;
};

bool flag_of(const json& line, const char* key, bool otherwise) {
  const auto found = line.find(key);
  if (found == line.end() || found->is_null()) return otherwise;
  if (!found->is_boolean())
    fail(ErrorCode::BadInput, "\"{}\" is a JSON {}, expected true or false", key, found->type_name());
  return found->get<bool>();
}

// The bytes under "text" or, as base64, "bytes".
std::string bytes_of(const json& line) {
  const auto text = line.find("text");
  const auto bytes = line.find("bytes");
  if ((text != line.end()) == (bytes != line.end()))
    fail(ErrorCode::BadInput, "expected one of \"text\", \"bytes\" (base64) and \"ids\"");
  const json& value = text != line.end() ? *text : *bytes;
  if (!value.is_string())
    fail(ErrorCode::BadInput, "\"text\" or \"bytes\" is a JSON {}, expected a string", value.type_name());
  const auto& content = value.get_ref<const std::string&>();
  if (text != line.end()) return content;
  const auto decoded = base64_decode(content);
  if (!decoded) fail(ErrorCode::BadInput, "\"bytes\" is not base64 (standard alphabet, with padding)");
  return {decoded->begin(), decoded->end()};
}

std::vector<int32_t> ids_of(const json& value, int32_t vocab_size) {
  if (!value.is_array()) fail(ErrorCode::BadInput, "\"ids\" is a JSON {}, expected an array", value.type_name());
  std::vector<int32_t> ids;
  ids.reserve(value.size());
  for (const json& item : value) {
    const bool fits = item.is_number_integer() && item >= 0 && item < vocab_size;
    if (!fits)
      fail(ErrorCode::BadInput, "\"ids\"[{}] is {}, expected a whole number from 0 to {}", ids.size(), item.dump(),
           vocab_size - 1);
    ids.push_back(item.get<int32_t>());
  }
  return ids;
}

// {"text"} or {"bytes"}, and with `stream` the text that each id completes (the last one with whatever is left).
ordered_json decoded(const text::Tokenizer& tokenizer, std::span<const int32_t> ids, bool special, bool stream) {
  const std::string whole = tokenizer.decode(ids, special);
  ordered_json out;
  if (text::is_valid_utf8(whole))
    out["text"] = whole;
  else
    out["bytes"] = base64_encode(whole);
  if (!stream) return out;
  text::StreamDecoder decoder(tokenizer, special);
  std::vector<std::string> pieces;
  for (const int32_t id : ids) pieces.push_back(decoder.push(id));
  if (!pieces.empty()) pieces.back() += decoder.flush();
  out["stream"] = pieces;
  return out;
}

ordered_json answer_line(const text::Tokenizer& tokenizer, const json& line) {
  if (const auto ids = line.find("ids"); ids != line.end())
    return decoded(tokenizer, ids_of(*ids, tokenizer.vocab_size()), flag_of(line, "special", false),
                   flag_of(line, "stream", false));
  const std::string bytes = bytes_of(line);
  return {{"ids", tokenizer.encode(bytes, flag_of(line, "add_special", true), flag_of(line, "parse_special", false))}};
}

void print_decoded(const Options& o, const text::Tokenizer& tokenizer) {
  const ordered_json result = decoded(tokenizer, o.ids, o.special, false);
  if (o.as_json)
    std::cout << app::dump_json(result) << '\n';
  else
    std::cout << tokenizer.decode(o.ids, o.special) << '\n';
}

void print_encoded(const Options& o, const text::Tokenizer& tokenizer) {
  const std::string text = o.has_text ? o.text : std::string(std::istreambuf_iterator<char>(std::cin), {});
  const auto ids = tokenizer.encode(text, !o.no_add_special, o.special);
  if (o.as_json) {
    ordered_json out{{"ids", ids}};
    for (const int32_t id : ids) out["pieces"].push_back(tokenizer.piece(id, true));
    std::cout << app::dump_json(out) << '\n';
    return;
  }
  for (const int32_t id : ids) std::cout << fmt::format("{:>8}  {}\n", id, app::dump_json(tokenizer.piece(id, true)));
  std::cerr << fmt::format("{} tokens, {} bytes\n", ids.size(), text.size());
}

void tokenize(const Options& o) {
  if (o.has_text && o.has_ids) fail(ErrorCode::Usage, "tokenize: give a text or --ids, not both");
  const gguf::File file = gguf::File::open(app::find_model(o.model));
  const text::Tokenizer tokenizer = app::tokenizer_from_gguf(file.metadata());
  if (!tokenizer.warning().empty()) std::cerr << "tally: " << file.path() << ": " << tokenizer.warning() << '\n';
  if (o.jsonl)
    app::run_jsonl(std::cin, std::cout, [&](const json& line) { return answer_line(tokenizer, line); });
  else if (o.has_ids)
    print_decoded(o, tokenizer);
  else
    print_encoded(o, tokenizer);
}

}  // namespace

void add_tokenize(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("tokenize", "text to token ids, and back");
  command->add_option("MODEL", o->model, "a GGUF file (vocabulary only will do), or the name of a model")->required();
  auto* text = command->add_option("TEXT", o->text, "text to tokenize (default: standard input)");
  auto* ids =
      command->add_option("--ids", o->ids, "token ids to turn into text, with commas between them")->delimiter(',');
  command->add_flag("--special", o->special, "control tokens: recognise their texts in TEXT, print them with --ids");
  command->add_flag("--no-add-special", o->no_add_special,
                    "leave out the begin and end tokens that the model asks for");
  command->add_flag("--json", o->as_json,
                    "one JSON document: ids and pieces, or text (bytes in base64 if it is not UTF-8)");
  command
      ->add_flag(
          "--jsonl", o->jsonl,
          "one JSON object a line from standard input, {\"text\" or \"bytes\", \"add_special\":true,\n"
          "\"parse_special\":false} or {\"ids\":[…], \"special\":false, \"stream\":false}; one a line to standard\n"
          "output, {\"ids\":[…]} or {\"text\" or \"bytes\", \"stream\":[…]}")
      ->excludes(text, ids);
  command->callback([o, text, ids] {
    o->has_text = text->count() > 0;
    o->has_ids = ids->count() > 0;
    tokenize(*o);
  });
}

}  // namespace tally::cli
