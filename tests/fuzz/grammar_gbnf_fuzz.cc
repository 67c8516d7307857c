// Grammar texts: each is refused with a place, or compiles; what compiles is walked along allowed bytes, which must
// never end in a state without a way on.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "text/grammar/constraint_error.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/matcher.h"

using namespace tally;
using namespace tally::grammar;

namespace {

void walk(Matcher& m, std::string_view choices) {
  for (char choice : choices) {
    const ByteSet allowed = m.table().allowed(m.state());
    int n = 0;
    for (uint64_t word : allowed.bits) n += __builtin_popcountll(word);
    CHECK(n > 0 || m.can_end());
    if (n == 0) return;
    int skip = static_cast<uint8_t>(choice) % n, byte = 0;
    while (!allowed.has(static_cast<uint8_t>(byte)) || skip-- > 0) ++byte;
    CHECK(m.accept(static_cast<uint8_t>(byte)));
    if (choice == 'r') {
      const StateId here = m.state();
      if (m.accept("a")) m.rollback(1);
      CHECK(m.state() == here);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    StateLimits limits;
    limits.bytes = 4u << 20;
    limits.work = 20'000;
    Matcher m(compile_gbnf(text), limits);
    walk(m, text);
    m.reset();
    walk(m, text.substr(size / 2));
  } catch (const ConstraintError& e) {
    CHECK(!e.constraint_code().empty());
    if (e.constraint_code() == "invalid_grammar") CHECK(e.path().find(':') != std::string::npos, "{}", e.what());
  }
  return 0;
}
