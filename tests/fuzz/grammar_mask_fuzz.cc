// Masks at any prefix of any grammar: a token's bit is set exactly when the matcher takes its bytes. The input: a
// grammar, a byte 0, bytes that choose tokens; a vocabulary of its own after another byte 0 (tokens apart by byte 1).
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../grammar/first_wrong_id.h"
#include "base/check.h"
#include "text/grammar/constraint_error.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/masker.h"

using namespace tally;
using namespace tally::grammar;

namespace {

std::string_view take(std::string_view& data, char separator) {
  const size_t end = data.find(separator);
  const std::string_view part = data.substr(0, end);
  data = end == std::string_view::npos ? std::string_view() : data.substr(end + 1);
  return part;
}

void check_row(Matcher& m, Masker& masker, const std::vector<std::string>& tokens, int32_t end) {
  const int32_t id = test::first_wrong_id(m, masker, tokens, end);
  CHECK(id == -1, "token {}", id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const std::string_view grammar = take(rest, '\0'), choices = take(rest, '\0').substr(0, 24);
  std::vector<std::string> tokens{"</s>",  "a", "b",  "ab",  "\"", "\":", "é", "\xC3",
                                  "\xA9x", "0", "12", "a\"", "  ", "{\"", "}"};
  for (int i = 0; i < 400 && !rest.empty(); ++i) tokens.emplace_back(take(rest, '\x01').substr(0, 40));
  try {
    StateLimits limits;
    limits.bytes = 4u << 20;
    limits.work = 20'000;
    Matcher m(compile_gbnf(grammar), limits);
    Masker masker(m, std::make_shared<MaskVocabulary>(TokenTrie(tokens, std::vector<int32_t>{0})));
    check_row(m, masker, tokens, 0);
    for (char c : choices) {
      const uint8_t choice = static_cast<uint8_t>(c);
      if (choice >= 0xF0) {
        const size_t n = std::min<size_t>(choice & 15, m.max_rollback());
        m.rollback(n);
      } else if (!m.accept(tokens[choice % tokens.size()])) {
        continue;
      }
      check_row(m, masker, tokens, 0);
    }
  } catch (const ConstraintError&) {
  }
  return 0;
}
