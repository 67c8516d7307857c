// Model output to reasoning, content and tool calls, while it comes in: what is certain is handed out at once, what
// may yet become part of a marker or call is held back. Families of formats are named as the chat templates' models.
//
// Any cut of the text into pieces gives the same result. Time is linear in the text (reader.h bounds what is read
// again), nesting is counted and not recursed, and no text is an error: what makes no sense as markup is text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/parse/output.h"
#include "text/parse/tools.h"

namespace tally::parse {

struct ParserSettings {
  std::string family;        // one of family_names()
  ToolSet tools;             // none: markup of calls is text
  std::string prompt_opens;  // what the prompt ended with: a block of reasoning that it opened or closed
  uint64_t id_seed = 0;      // of the ids of calls whose format carries none
};

class OutputParser {
 public:
  // Error (BadInput) when there is no such family; the message lists them.
  explicit OutputParser(ParserSettings settings);
  ~OutputParser();
  OutputParser(OutputParser&&) noexcept;

  // More of the output, special tokens as their text; cut anywhere, also inside a character. Gives what became certain.
  std::vector<Delta> feed(std::string_view bytes);
  // The output has ended. Once only; gives the last deltas.
  std::vector<Delta> finish(Finish finish);
  // After finish().
  Parsed result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::vector<std::string_view> family_names();

// The family of a model by its chat template's text; architecture and name (general.architecture, general.name; may be
// empty) decide where templates do not tell. Always one of family_names(); "generic" when nothing fits.
std::string_view detect_family(std::string_view chat_template, std::string_view architecture = {},
                               std::string_view model_name = {});

}  // namespace tally::parse
