// tally run --jsonl: one request a line.
#include <functional>
#include <iostream>
#include <memory>

#include "app/jsonl.h"
#include "app/parse_json.h"
#include "app/text_stream.h"
#include "base/error.h"
#include "cli/run_args.h"

namespace tally::cli {
namespace {

using nlohmann::ordered_json;

template <typename T>
void read_number(const ordered_json& line, const char* key, T& to) {
  auto found = line.find(key);
  if (found == line.end() || found->is_null()) return;
  if (!found->is_number()) fail(ErrorCode::BadInput, "\"{}\" is a JSON {}, expected a number", key, found->type_name());
  to = found->get<T>();
}

std::vector<int32_t> ids_of(const ordered_json& line, Speaker& s) {
  if (auto ids = line.find("ids"); ids != line.end()) {
    std::vector<int32_t> out;
    if (!ids->is_array()) fail(ErrorCode::BadInput, "\"ids\" is a JSON {}, expected an array", ids->type_name());
    for (const ordered_json& x : *ids) {
      if (!x.is_number_integer() || x < 0 || x > INT32_MAX)
        fail(ErrorCode::BadInput, "\"ids\" holds {}, expected token ids", x.dump().substr(0, 40));
      out.push_back(x.get<int32_t>());
    }
    return out;
  }
  if (!s.tokenizer) fail(ErrorCode::BadInput, "the model has no tokenizer; give \"ids\"");
  if (auto messages = line.find("messages"); messages != line.end()) {
    app::ChatRequest request{.messages = *messages};
    if (auto vars = line.find("vars"); vars != line.end()) request.vars = *vars;
    return s.chat->encode(request);
  }
  auto prompt = line.find("prompt");
  if (prompt == line.end() || !prompt->is_string())
    fail(ErrorCode::BadInput, "expected one of \"prompt\" (text), \"ids\" and \"messages\"");
  return s.tokenizer->encode(prompt->get_ref<const std::string&>(), true, true);
}

// A chat with tools.
struct ToolLine {
  app::ToolUse use;
  text::ChatPrompt prompt;
  std::string key;  // the same for the same tools and choice
};

std::optional<ToolLine> tools_of_line(const ordered_json& line, Speaker& s) {
  const auto messages = line.find("messages"), tools = line.find("tools");
  if (messages == line.end() || tools == line.end() || tools->is_null()) return std::nullopt;
  if (!s.chat) fail(ErrorCode::BadInput, "the model has no tokenizer; give \"ids\"");
  const ordered_json choice = line.value("tool_choice", ordered_json());
  app::ToolUse use(*s.chat, *tools, app::tool_choice_of(choice));
  app::ChatRequest request{.messages = *messages};
  if (auto vars = line.find("vars"); vars != line.end()) request.vars = *vars;
  text::ChatPrompt prompt = use.prompt(std::move(request));
  return ToolLine{std::move(use), std::move(prompt), tools->dump() + choice.dump()};
}

// The constraint of the line, else of the command; null: none.
runtime::TokenConstraint* constraint_of_line(const RunArgs& args, Speaker& s, const ordered_json& line,
                                             const std::optional<ToolLine>& tools) {
  const auto given = [&](const char* key) {
    auto found = line.find(key);
    return found == line.end() || found->is_null() ? nullptr : &*found;
  };
  const ordered_json *schema = given("json_schema"), *grammar = given("grammar");
  if (tools && tools->use.binds()) {
    if (schema || grammar) fail(ErrorCode::BadInput, "\"tools\" and a schema or grammar at once are not supported");
    return s.constrain_to_calls(tools->use, tools->prompt, tools->key);
  }
  if (schema && grammar) fail(ErrorCode::BadInput, "both \"json_schema\" and \"grammar\" are given");
  if (schema) return s.constrain_to_schema(schema->dump());
  if (!grammar) return constraint_of(args, s);
  if (!grammar->is_string())
    fail(ErrorCode::BadInput, "\"grammar\" is a JSON {}, expected a text in GBNF", grammar->type_name());
  return s.constrain_to_grammar(grammar->get_ref<const std::string&>());
}

runtime::GenerateSettings settings_of_line(const RunArgs& args, Speaker& s, const ordered_json& line,
                                           const std::optional<ToolLine>& tools) {
  runtime::GenerateSettings settings = settings_of(args, s);
  settings.n_predict = 64;
  read_number(line, "n_predict", settings.n_predict);
  ops::SamplingSettings& x = settings.sampling;
  read_number(line, "temperature", x.temperature);
  read_number(line, "top_k", x.top_k);
  read_number(line, "top_p", x.top_p);
  read_number(line, "min_p", x.min_p);
  read_number(line, "seed", x.seed);
  read_number(line, "repeat_penalty", x.repeat_penalty);
  read_number(line, "presence_penalty", x.presence_penalty);
  read_number(line, "frequency_penalty", x.frequency_penalty);
  read_number(line, "penalty_last_n", x.penalty_last_n);
  settings.ignore_stop_ids = line.value("ignore_eos", args.ignore_eos);
  settings.constraint = constraint_of_line(args, s, line, tools);
  return settings;
}

std::vector<std::string> stops_of(const RunArgs& args, const ordered_json& line) {
  std::vector<std::string> stops = args.stops;
  if (auto stop = line.find("stop"); stop != line.end() && !stop->is_null()) {
    if (stop->is_string())
      stops = {stop->get<std::string>()};
    else
      stops = stop->get<std::vector<std::string>>();
  }
  return stops;
}

ordered_json answer(const RunArgs& args, Speaker& s, const ordered_json& line) {
  const std::optional<ToolLine> tools = tools_of_line(line, s);
  std::vector<int32_t> ids = tools ? s.chat->encode(tools->prompt) : ids_of(line, s);
  const runtime::GenerateSettings settings = settings_of_line(args, s, line, tools);
  runtime::Engine& engine = s.engine();
  runtime::Sequence sequence = engine.open();
  std::unique_ptr<runtime::Sequence, std::function<void(runtime::Sequence*)>> closer(
      &sequence, [&](runtime::Sequence* q) { engine.close(*q); });
  std::optional<app::TextStream> stream;
  if (s.tokenizer) stream.emplace(*s.tokenizer, stops_of(args, line), tools.has_value());
  std::vector<int32_t> out_ids;
  runtime::GenerateStats stats;
  runtime::Finish finish = runtime::generate(
      engine, sequence, ids, settings,
      [&](int32_t id) {
        out_ids.push_back(id);
        if (!stream) return true;
        stream->push(id);
        return !stream->stopped();
      },
      &stats);
  if (stream) stream->flush();
  ordered_json out{{"ids", out_ids},
                   {"text", stream ? stream->text() : ""},
                   {"finish_reason", finish == runtime::Finish::Length ? "length" : "stop"},
                   {"n_prompt", stats.n_prompt},
                   {"prompt_ms", stats.prompt_ns * 1e-6},
                   {"decode_ms", stats.decode_ns * 1e-6},
                   {"dispatches", stats.n_dispatches},
                   {"logits_hash", fmt::format("{:016x}", stats.logits_hash)}};
  if (tools) {
    parse::OutputParser parser = tools->use.parser(tools->prompt, settings.sampling.seed);
    parser.feed(stream->text());
    parser.finish(finish == runtime::Finish::Length ? parse::Finish::Length : parse::Finish::Stop);
    const ordered_json parsed = app::parsed_json(parser.result());
    for (const char* key : {"reasoning", "content", "tool_calls"}) out[key] = parsed[key];
    out["finish_reason"] = parsed["finish"];
  }
  if (engine.drafting()) out["drafted"] = stats.n_drafted, out["accepted"] = stats.n_accepted;
  return out;
}

}  // namespace

void run_jsonl_mode(const RunArgs& args, Speaker& speaker) {
  app::run_jsonl_ordered(std::cin, std::cout, [&](const ordered_json& line) -> ordered_json {
    try {
      return answer(args, speaker, line);
    } catch (const grammar::ConstraintError& e) {
      return {{"error", app::constraint_error(e)}};
    }
  });
}

}  // namespace tally::cli
