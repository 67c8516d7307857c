// tally parse: model output to reasoning, content and tool calls.
#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "app/jsonl.h"
#include "app/parse_json.h"
#include "base/base64.h"
#include "base/error.h"
#include "cli/command.h"

namespace tally::cli {
namespace {

using nlohmann::ordered_json;

std::string text_of(const ordered_json& line, const char* key, const char* otherwise) {
  const auto found = line.find(key);
  if (found == line.end() || found->is_null()) return otherwise;
  if (!found->is_string()) fail(ErrorCode::BadInput, "\"{}\" is a JSON {}, expected a string", key, found->type_name());
  return found->get<std::string>();
}

parse::Finish finish_of(const ordered_json& line) {
  const std::string finish = text_of(line, "finish", "stop");
  if (finish == "length") return parse::Finish::Length;
  if (finish == "stop") return parse::Finish::Stop;
  fail(ErrorCode::BadInput, "\"finish\" is \"{}\", expected \"stop\" or \"length\"", finish);
}

std::vector<std::string> pieces_of(const ordered_json& pieces) {
  if (!pieces.is_array()) fail(ErrorCode::BadInput, "\"pieces\" is a JSON {}, expected an array", pieces.type_name());
  std::vector<std::string> out;
  for (const ordered_json& piece : pieces) {
    const auto bytes = piece.is_string() ? base64_decode(piece.get_ref<const std::string&>()) : std::nullopt;
    if (!bytes) fail(ErrorCode::BadInput, "\"pieces\"[{}] is not base64 (standard alphabet, with padding)", out.size());
    out.emplace_back(bytes->begin(), bytes->end());
  }
  return out;
}

ordered_json answer(const ordered_json& line) {
  parse::ParserSettings settings{.family = text_of(line, "family", "generic"),
                                 .tools = parse::ToolSet(line.value("tools", ordered_json())),
                                 .prompt_opens = text_of(line, "prompt_opens", ""),
                                 .id_seed = std::hash<std::string>()(line.dump())};
  const parse::Finish finish = finish_of(line);
  parse::OutputParser parser(std::move(settings));
  const auto pieces = line.find("pieces");
  if (pieces == line.end()) {
    const std::string raw = text_of(line, "raw", "");
    parser.feed(raw);
    parser.finish(finish);
    return app::parsed_json(parser.result());
  }
  ordered_json deltas = ordered_json::array();
  for (const std::string& piece : pieces_of(*pieces)) deltas.push_back(app::deltas_json(parser.feed(piece)));
  deltas.push_back(app::deltas_json(parser.finish(finish)));
  return {{"deltas", std::move(deltas)}, {"finish", parser.result().finish_reason}};
}

}  // namespace

void add_parse(CLI::App& app) {
  CLI::App* c = app.add_subcommand("parse", "model output to reasoning, content and tool calls");
  auto jsonl = std::make_shared<bool>(false);
  c->add_flag("--jsonl", *jsonl,
              "one output a line: {\"family\", \"tools\":[…], \"prompt_opens\":\"\", \"raw\":\"…\" or "
              "\"pieces\":[base64, …], \"finish\":\"stop\"|\"length\"}")
      ->required();
  c->footer([] { return fmt::format("families: {}", fmt::join(parse::family_names(), ", ")); });
  c->callback([] { app::run_jsonl_ordered(std::cin, std::cout, answer); });
}

}  // namespace tally::cli
