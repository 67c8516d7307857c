// tally run: its options, and the three ways it works.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/chat_prompt.h"
#include "app/constraint.h"
#include "app/engine_args.h"
#include "app/tool_use.h"
#include "runtime/generate.h"
#include "text/tokenizer.h"

namespace tally::cli {

struct RunArgs {
  app::EngineArgs engine;
  std::string prompt, message, system;
  std::vector<int32_t> ids;  // a prompt as token ids
  bool has_prompt = false, has_message = false;
  int n_predict = 256;
  ops::SamplingSettings sampling;
  bool temperature_given = false;
  std::vector<std::string> stops;
  bool ignore_eos = false, jsonl = false, explain = false;
  std::string save_state, load_state;
  std::string json_schema, grammar;  // files that the text must obey
  std::string tools, tool_choice = "auto";
};

// A model ready to talk.
struct Speaker {
  std::unique_ptr<app::OpenModel> model;
  std::optional<text::Tokenizer> tokenizer;  // none: ids only
  std::optional<app::ChatModel> chat;
  runtime::Engine& engine() { return *model->engine; }

  // The text that follows must obey a schema, or a grammar in GBNF. What the last one of the same text learnt is kept.
  // Throws grammar::ConstraintError.
  app::TextConstraint* constrain_to_schema(std::string_view json_text);
  app::TextConstraint* constrain_to_grammar(std::string_view gbnf);
  // … calls as the tools and the choice want them; null: no tools.
  app::TextConstraint* constrain_to_calls(const app::ToolUse& tools, const text::ChatPrompt& prompt,
                                          std::string_view key);

 private:
  app::TextConstraint* constrain(char kind, std::string_view source);
  std::shared_ptr<grammar::MaskVocabulary> vocabulary_, calls_vocabulary_;
  std::string constraint_source_;
  std::unique_ptr<app::TextConstraint> constraint_;
};

// What the options ask for; null: nothing.
app::TextConstraint* constraint_of(const RunArgs& args, Speaker& speaker);

runtime::GenerateSettings settings_of(const RunArgs& args, const Speaker& speaker);

// One line after a generation: tokens/s, GB/s, share of this machine's limit, logits hash.
std::string summary(Speaker& speaker, const runtime::GenerateStats& stats, const ledger::Ledger& ledger);

void run_jsonl_mode(const RunArgs& args, Speaker& speaker);
void run_once(const RunArgs& args, Speaker& speaker, const std::string& prompt, bool is_message);
void run_chat(const RunArgs& args, Speaker& speaker);
// One message, with tools.
void run_tools(const RunArgs& args, Speaker& speaker, const std::string& message);

// Set by SIGINT while a generation runs.
const std::atomic<bool>& interrupted();
void watch_interrupts();
void clear_interrupt();

}  // namespace tally::cli
