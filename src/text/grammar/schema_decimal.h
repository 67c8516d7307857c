// Exact decimal numbers of any length, as JSON writes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tally::grammar {

// ± digits × 10^exponent; digits have no zeros at either end and are empty for zero, which is never negative.
struct Decimal {
  bool negative = false;
  std::string digits;
  int64_t exponent = 0;

  bool is_zero() const { return digits.empty(); }
  bool is_integer() const { return exponent >= 0; }
  bool operator==(const Decimal&) const = default;
};

// Characters that a number may need when written without exponent; longer ones are refused.
inline constexpr int64_t kDecimalLengthMax = 1200;

// From a JSON number. Throws ConstraintError (limit) at `path` when it needs more characters than kDecimalLengthMax.
Decimal parse_decimal(std::string_view json_number, const std::string& path);

int compare(const Decimal& a, const Decimal& b);  // −1, 0, 1
inline bool operator<(const Decimal& a, const Decimal& b) { return compare(a, b) < 0; }

// The digits before and behind the point, without sign: "0" and "" for zero.
struct PlainDigits {
  std::string integer, fraction;
};
PlainDigits plain_digits(const Decimal& d);
std::string to_text(const Decimal& d);  // the shortest form without exponent

// Whether `value` is a whole multiple of `step` > 0, a step of at most 18 significant digits.
bool is_multiple(const Decimal& value, const Decimal& step);

}  // namespace tally::grammar
