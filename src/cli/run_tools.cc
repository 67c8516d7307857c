// tally run --tools: a message to a model that may call tools. Reasoning and content are printed as text, calls as
// JSON, one a line.
#include <fmt/format.h>

#include <cstdio>

#include "app/exit_status.h"
#include "app/jsonl.h"
#include "app/read_file.h"
#include "app/text_stream.h"
#include "base/error.h"
#include "cli/run_args.h"

namespace tally::cli {
namespace {

using nlohmann::ordered_json;

ordered_json read_tools(const std::string& path) {
  const std::string text = app::read_file(path, "a file of tools");
  try {
    ordered_json tools = app::parse_json_ordered(text);
    return tools.is_object() && tools.contains("tools") ? tools["tools"] : tools;
  } catch (const Error& e) {
    fail(e.code(), "{}: {}", path, e.what());
  }
}

// Prints deltas of text as they come, a line between reasoning and content.
class Printer {
 public:
  void show(const std::vector<parse::Delta>& deltas) {
    for (const parse::Delta& d : deltas) {
      const bool is_text = d.kind == parse::Delta::Kind::Content || d.kind == parse::Delta::Kind::Reasoning;
      if (!is_text) continue;
      if (any_ && d.kind != last_) std::fputs("\n\n", stdout);
      std::fputs(d.text.c_str(), stdout);
      last_ = d.kind, any_ = true;
    }
    std::fflush(stdout);
  }
  void calls(const parse::Parsed& parsed) {
    if (any_) std::fputs("\n", stdout);
    for (const parse::ToolCall& call : parsed.calls)
      fmt::print("{}\n", app::dump_json({{"id", call.id}, {"name", call.name}, {"arguments", call.arguments}}));
    std::fflush(stdout);
  }

 private:
  bool any_ = false;
  parse::Delta::Kind last_ = parse::Delta::Kind::Content;
};

}  // namespace

app::TextConstraint* Speaker::constrain_to_calls(const app::ToolUse& tools, const text::ChatPrompt& prompt,
                                                 std::string_view key) {
  if (!tools.binds()) return nullptr;
  std::string source = "c" + prompt.generation_prompt + '\0' + std::string(key);
  if (constraint_ && source == constraint_source_) {
    constraint_->restart();
    return constraint_.get();
  }
  constrain::CallRules rules = tools.rules(prompt);
  for (const std::string& warning : rules.warnings) fmt::print(stderr, "tally: {}\n", warning);
  if (!calls_vocabulary_) calls_vocabulary_ = app::mask_vocabulary(*tokenizer, rules.markers);
  constraint_ = std::make_unique<app::TextConstraint>(grammar::Automaton::compile(rules.rules), calls_vocabulary_);
  constraint_source_ = std::move(source);
  return constraint_.get();
}

void run_tools(const RunArgs& args, Speaker& s, const std::string& message) {
  if (!s.chat) fail(ErrorCode::BadInput, "{}: has no tokenizer, so it cannot be told of tools", s.model->file.path());
  const ordered_json declared = read_tools(args.tools);
  const app::ToolUse tools(*s.chat, declared, app::tool_choice_named(args.tool_choice));
  ordered_json messages = ordered_json::array();
  if (!args.system.empty()) messages.push_back({{"role", "system"}, {"content", args.system}});
  messages.push_back({{"role", "user"}, {"content", message}});
  const text::ChatPrompt prompt = tools.prompt({.messages = messages});
  runtime::GenerateSettings settings = settings_of(args, s);
  settings.constraint = s.constrain_to_calls(tools, prompt, declared.dump() + args.tool_choice);

  runtime::Engine& engine = s.engine();
  runtime::Sequence sequence = engine.open();
  parse::OutputParser parser = tools.parser(prompt, args.sampling.seed);
  app::TextStream stream(*s.tokenizer, args.stops, true);
  Printer printer;
  runtime::GenerateStats stats;
  const runtime::Finish finish = runtime::generate(
      engine, sequence, s.chat->encode(prompt), settings,
      [&](int32_t id) {
        printer.show(parser.feed(stream.push(id)));
        return !stream.stopped();
      },
      &stats);
  printer.show(parser.feed(stream.flush()));
  printer.show(parser.finish(finish == runtime::Finish::Length ? parse::Finish::Length : parse::Finish::Stop));
  printer.calls(parser.result());
  if (!args.engine.quiet) fmt::print(stderr, "{}\n", summary(s, stats, s.model->ledger));
  engine.close(sequence);
  if (finish == runtime::Finish::Cancelled) app::exit_status() = static_cast<int>(ErrorCode::Interrupted);
}

}  // namespace tally::cli
