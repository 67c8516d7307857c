// A schema or grammar that a generation obeys: text joined with a model's vocabulary.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/constraint.h"
#include "text/grammar/constraint_error.h"
#include "text/grammar/masker.h"
#include "text/tokenizer.h"

namespace tally::app {

// The tokens that may stand in a text, by their bytes, and those that end it. Control tokens are in no mask, but for
// those whose text is one of `markers`.
std::shared_ptr<grammar::MaskVocabulary> mask_vocabulary(const text::Tokenizer& tokenizer,
                                                         const std::vector<std::string>& markers = {});

// Throw grammar::ConstraintError.
std::shared_ptr<const grammar::Automaton> compile_schema(std::string_view json_text,
                                                         std::vector<std::string>* warnings = nullptr);
std::shared_ptr<const grammar::Automaton> compile_grammar(std::string_view gbnf);

// One generation's way through an automaton; restart() for the next one keeps what was learnt.
class TextConstraint : public runtime::TokenConstraint {
 public:
  TextConstraint(std::shared_ptr<const grammar::Automaton> automaton,
                 std::shared_ptr<grammar::MaskVocabulary> vocabulary);

  std::span<const uint64_t> allowed() override;
  void accept(int32_t token) override;
  void rollback(int n) override;
  // The text may end here, or has ended.
  bool complete() const { return ended_ || matcher_.can_end(); }
  void restart();

 private:
  grammar::Matcher matcher_;
  grammar::Masker masker_;
  bool ended_ = false;  // by an end token, the last one accepted
};

// {"code", "message", "path", and for a limit "limit", "found"}.
nlohmann::ordered_json constraint_error(const grammar::ConstraintError& e);

}  // namespace tally::app
