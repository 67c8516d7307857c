#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/check.h"
#include "base/error.h"

namespace tally::text {
namespace {

// The explicit set: PCRE2's own \s also holds U+180E.
constexpr std::string_view kSpaces =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";

// Writes out \s (inside and outside of brackets) and \S (outside only).
std::string with_explicit_spaces(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char next = pattern[++i];
      if (next == 's') {
        if (!in_class) out += '[';
        out += kSpaces;
        if (!in_class) out += ']';
      } else if (next == 'S') {
        CHECK(!in_class, "\\S inside brackets: {}", pattern);
        out.append("[^").append(kSpaces).append("]");
      } else {
        out.append({c, next});
      }
      continue;
    }
    if (c == '[') in_class = true;
    if (c == ']') in_class = false;
    out += c;
  }
  return out;
}

constexpr size_t kJitStackStart = 32 << 10;
constexpr size_t kJitStackMax = 64 << 20;
constexpr uint32_t kHeapLimitKiB = 1 << 20;

}  // namespace

struct RegexScratch::Memory {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  pcre2_jit_stack* stack = pcre2_jit_stack_create(kJitStackStart, kJitStackMax, nullptr);

  Memory() {
    if (!data || !context || !stack) fail(ErrorCode::Resources, "pre-tokenizer: no memory for matching");
    pcre2_jit_stack_assign(context, nullptr, stack);
    // The patterns are fixed and none is exponential: limits only bound memory.
    pcre2_set_match_limit(context, UINT32_MAX);
    pcre2_set_depth_limit(context, UINT32_MAX);
    pcre2_set_heap_limit(context, kHeapLimitKiB);
  }
  ~Memory() {
    pcre2_match_data_free(data);
    pcre2_match_context_free(context);
    pcre2_jit_stack_free(stack);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
};

RegexScratch::RegexScratch() : memory_(std::make_unique<Memory>()) {}
RegexScratch::~RegexScratch() = default;
RegexScratch::RegexScratch(RegexScratch&&) noexcept = default;
RegexScratch& RegexScratch::operator=(RegexScratch&&) noexcept = default;

struct Regex::Code {
  pcre2_code* code = nullptr;
  bool jit = false;
  ~Code() { pcre2_code_free(code); }
};

Regex::Regex(std::string_view pattern) {
  const std::string full = with_explicit_spaces(pattern);
  int error = 0;
  PCRE2_SIZE at = 0;
  auto code = std::make_shared<Code>();
  code->code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(full.data()), full.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_AUTO_CAPTURE, &error, &at, nullptr);
  CHECK(code->code, "pattern {} does not compile: error {} at {}", full, error, at);
  code->jit =
      pcre2_jit_compile(code->code, PCRE2_JIT_COMPLETE) == 0;  // without it the interpreter does the same, slower
  code_ = std::move(code);
}

void Regex::split(std::string_view text, uint32_t base, RegexScratch& scratch, std::vector<uint32_t>& ends) const {
  const RegexScratch::Memory& m = *scratch.memory_;
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const PCRE2_SIZE* span = pcre2_get_ovector_pointer(m.data);
  size_t done = 0;  // everything before it is in pieces
  for (size_t from = 0; from < text.size();) {
    int found = code_->jit
                    ? pcre2_jit_match(code_->code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, m.data, m.context)
                    : PCRE2_ERROR_JIT_STACKLIMIT;
    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
      found =
          pcre2_match(code_->code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, m.data, m.context);
    if (found == PCRE2_ERROR_NOMATCH) break;
    if (found < 0)
      fail(ErrorCode::Resources, "pre-tokenizer: matching failed (PCRE2 error {}) at byte {}", found, from);
    CHECK(span[1] > span[0], "a pre-tokenizer pattern matched nothing at {}", span[0]);
    if (span[0] > done) ends.push_back(base + static_cast<uint32_t>(span[0]));
    ends.push_back(base + static_cast<uint32_t>(span[1]));
    done = from = span[1];
  }
  if (done < text.size()) ends.push_back(base + static_cast<uint32_t>(text.size()));
}

}  // namespace tally::text
