// Hostile schemas: compiled within limits or refused with an error of the right kind; and what a compiled one lets
// through, found by a walk over allowed bytes, is JSON. Input: a schema; behind a line "---", bytes that steer the
// walk.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "text/grammar/matcher.h"
#include "text/grammar/schema.h"
#include "text/grammar/schema_json.h"

namespace {

using namespace tally;
using namespace tally::grammar;

SchemaOptions small_limits() {
  SchemaOptions options;
  options.max_bytes = 1 << 16;
  options.max_nodes = 20'000;
  options.max_automaton_states = 2'000;
  options.max_work = 400'000;
  return options;
}

// By the reader of schemas: the library's refuses numbers beyond a double. A key twice is JSON too.
bool is_json(std::string_view text) {
  try {
    JsonDocument::parse(text, {});
    return true;
  } catch (const ConstraintError& e) {
    return e.constraint_code() != "not_json";
  }
}

// Prefers bytes that end strings, arrays and objects, or the walk would seldom end.
int choose(const ByteSet& allowed, uint8_t wish) {
  if (wish < 128)
    for (char c : std::string_view("\"]}0"))
      if (allowed.has(static_cast<uint8_t>(c))) return c;
  for (int k = 0; k < 256; ++k) {
    const uint8_t b = static_cast<uint8_t>(wish + k);
    if (allowed.has(b)) return b;
  }
  return -1;
}

void walk(const Rules& rules, std::string_view steer) {
  StateTable table(Automaton::compile(rules), {.bytes = 4u << 20, .frames = 2'000, .work = 20'000});
  std::string text;
  StateId state = table.start();
  for (size_t i = 0; i < 400 && !table.full(); ++i) {
    if (table.can_end(state)) {
      CHECK(is_json(text));
      if (i >= steer.size()) return;
    }
    const uint8_t wish = i < steer.size() ? static_cast<uint8_t>(steer[i]) : 0;
    const int byte = choose(table.allowed(state), wish);
    if (byte < 0) {
      CHECK(table.can_end(state));
      return;
    }
    text += static_cast<char>(byte);
    state = table.step(state, static_cast<uint8_t>(byte));
    CHECK(state != 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size), steer;
  if (size_t at = input.find("\n---\n"); at != std::string_view::npos) {
    steer = input.substr(at + 5);
    input = input.substr(0, at);
  }
  static const SchemaOptions options = small_limits();
  try {
    walk(compile_schema(input, options), steer);
  } catch (const ConstraintError& e) {
    CHECK(!e.constraint_code().empty());
  }
  return 0;
}
