// tally run with a schema or grammar that the text must obey.
#include <fmt/format.h>

#include "app/read_file.h"
#include "base/error.h"
#include "cli/run_args.h"

namespace tally::cli {

app::TextConstraint* Speaker::constrain(char kind, std::string_view source) {
  if (!tokenizer) fail(ErrorCode::BadInput, "the model has no tokenizer, so its tokens cannot be held to a text");
  std::string key = kind + std::string(source);
  if (constraint_ && key == constraint_source_) {
    constraint_->restart();
    return constraint_.get();
  }
  std::vector<std::string> warnings;
  auto automaton = kind == 's' ? app::compile_schema(source, &warnings) : app::compile_grammar(source);
  for (const std::string& warning : warnings) fmt::print(stderr, "tally: {}\n", warning);
  if (!vocabulary_) vocabulary_ = app::mask_vocabulary(*tokenizer);
  constraint_ = std::make_unique<app::TextConstraint>(std::move(automaton), vocabulary_);
  constraint_source_ = std::move(key);
  return constraint_.get();
}

app::TextConstraint* Speaker::constrain_to_schema(std::string_view json_text) { return constrain('s', json_text); }
app::TextConstraint* Speaker::constrain_to_grammar(std::string_view gbnf) { return constrain('g', gbnf); }

app::TextConstraint* constraint_of(const RunArgs& args, Speaker& speaker) {
  const std::string& file = args.json_schema.empty() ? args.grammar : args.json_schema;
  if (file.empty()) return nullptr;
  const std::string source = app::read_file(file);
  try {
    return args.json_schema.empty() ? speaker.constrain_to_grammar(source) : speaker.constrain_to_schema(source);
  } catch (const grammar::ConstraintError& e) {
    fail(e.code(), "{}: {}{}", file, e.what(), e.path().empty() ? "" : fmt::format(" (at {})", e.path()));
  }
}

}  // namespace tally::cli
