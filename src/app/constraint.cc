#include "app/constraint.h"

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/schema.h"

namespace tally::app {

std::shared_ptr<grammar::MaskVocabulary> mask_vocabulary(const text::Tokenizer& tokenizer,
                                                         const std::vector<std::string>& markers) {
  std::vector<std::string> tokens(static_cast<size_t>(tokenizer.vocab_size()));
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    const text::TokenType type = tokenizer.token_type(id);
    const bool control = type == text::TokenType::Control || type == text::TokenType::Unknown ||
                         type == text::TokenType::Unused || tokenizer.is_eog(id);
    if (!control) tokens[static_cast<size_t>(id)] = tokenizer.piece(id, false);
  }
  for (const std::string& marker : markers)
    if (const int32_t id = tokenizer.find_token(marker); id >= 0 && !tokenizer.is_eog(id))
      tokens[static_cast<size_t>(id)] = marker;
  return std::make_shared<grammar::MaskVocabulary>(grammar::TokenTrie(tokens, tokenizer.eog_ids()));
}

std::shared_ptr<const grammar::Automaton> compile_schema(std::string_view json_text,
                                                         std::vector<std::string>* warnings) {
  return grammar::Automaton::compile(grammar::compile_schema(json_text, {}, warnings));
}

std::shared_ptr<const grammar::Automaton> compile_grammar(std::string_view gbnf) { return grammar::compile_gbnf(gbnf); }

TextConstraint::TextConstraint(std::shared_ptr<const grammar::Automaton> automaton,
                               std::shared_ptr<grammar::MaskVocabulary> vocabulary)
    : matcher_(std::move(automaton)), masker_(matcher_, std::move(vocabulary)) {}

std::span<const uint64_t> TextConstraint::allowed() {
  CHECK(!ended_, "the text has ended");
  return masker_.row();
}

void TextConstraint::accept(int32_t token) {
  CHECK(!ended_, "the text has ended");
  const grammar::TokenTrie& trie = masker_.vocabulary().trie();
  if (trie.is_end(token)) {
    CHECK(matcher_.can_end());
    ended_ = true;
  } else {
    CHECK(matcher_.accept(trie.bytes(token)), "token {} was not allowed", token);
  }
}

void TextConstraint::rollback(int n) {
  if (n > 0 && ended_) ended_ = false, --n;
  matcher_.rollback(static_cast<size_t>(n));
}

void TextConstraint::restart() {
  ended_ = false;
  matcher_.reset();
}

nlohmann::ordered_json constraint_error(const grammar::ConstraintError& e) {
  nlohmann::ordered_json out{{"code", e.constraint_code()}, {"message", e.what()}, {"path", e.path()}};
  if (e.limit()) out["limit"] = *e.limit();
  if (e.found()) out["found"] = *e.found();
  return out;
}

}  // namespace tally::app
