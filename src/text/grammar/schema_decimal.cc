#include "text/grammar/schema_decimal.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/grammar/constraint_error.h"

namespace tally::grammar {
namespace {

int64_t saturating_exponent(std::string_view s) {
  bool negative = !s.empty() && s[0] == '-';
  if (!s.empty() && (s[0] == '-' || s[0] == '+')) s.remove_prefix(1);
  int64_t v = 0;
  for (char c : s) v = std::min<int64_t>(v * 10 + (c - '0'), 1'000'000'000);
  return negative ? -v : v;
}

}  // namespace

Decimal parse_decimal(std::string_view s, const std::string& path) {
  Decimal d;
  if (!s.empty() && s[0] == '-') {
    d.negative = true;
    s.remove_prefix(1);
  }
  if (size_t e = s.find_first_of("eE"); e != std::string_view::npos) {
    d.exponent = saturating_exponent(s.substr(e + 1));
    s = s.substr(0, e);
  }
  size_t point = s.find('.');
  d.digits = s.substr(0, point);
  if (point != std::string_view::npos) {
    d.digits += s.substr(point + 1);
    d.exponent -= static_cast<int64_t>(s.size() - point - 1);
  }
  d.digits.erase(0, std::min(d.digits.find_first_not_of('0'), d.digits.size()));
  while (!d.digits.empty() && d.digits.back() == '0') {
    d.digits.pop_back();
    ++d.exponent;
  }
  if (d.digits.empty()) return {};
  const int64_t n = static_cast<int64_t>(d.digits.size());
  const int64_t length = d.exponent >= 0 ? n + d.exponent : std::max(n, 1 - d.exponent);
  if (length > kDecimalLengthMax) {
    throw ConstraintError(path, fmt::format("a number of {} digits; {} are allowed", length, kDecimalLengthMax),
                          kDecimalLengthMax, static_cast<uint64_t>(length));
  }
  return d;
}

int compare(const Decimal& a, const Decimal& b) {
  auto sign = [](const Decimal& d) { return d.is_zero() ? 0 : d.negative ? -1 : 1; };
  if (sign(a) != sign(b)) return sign(a) < sign(b) ? -1 : 1;
  if (a.is_zero()) return 0;
  const int64_t top_a = static_cast<int64_t>(a.digits.size()) + a.exponent;
  const int64_t top_b = static_cast<int64_t>(b.digits.size()) + b.exponent;
  int order = top_a != top_b ? (top_a < top_b ? -1 : 1) : a.digits.compare(b.digits);
  order = order < 0 ? -1 : order > 0 ? 1 : 0;
  return a.negative ? -order : order;
}

PlainDigits plain_digits(const Decimal& d) {
  if (d.is_zero()) return {"0", ""};
  if (d.exponent >= 0) return {d.digits + std::string(static_cast<size_t>(d.exponent), '0'), ""};
  const size_t behind = static_cast<size_t>(-d.exponent);
  if (behind >= d.digits.size()) return {"0", std::string(behind - d.digits.size(), '0') + d.digits};
  return {d.digits.substr(0, d.digits.size() - behind), d.digits.substr(d.digits.size() - behind)};
}

std::string to_text(const Decimal& d) {
  PlainDigits p = plain_digits(d);
  return (d.negative ? "-" : "") + p.integer + (p.fraction.empty() ? "" : "." + p.fraction);
}

bool is_multiple(const Decimal& value, const Decimal& step) {
  if (value.is_zero()) return true;
  if (value.exponent < step.exponent) {
    // value = v × 10^e, step = s × 10^(e+k) with k > 0: v would have to be a multiple of s × 10^k; v ends in no zero.
    return false;
  }
  uint64_t modulus = 0;
  for (char c : step.digits) modulus = modulus * 10 + static_cast<uint64_t>(c - '0');
  unsigned __int128 rest = 0;
  for (char c : value.digits) rest = (rest * 10 + static_cast<unsigned>(c - '0')) % modulus;
  for (int64_t i = step.exponent; i < value.exponent && rest != 0; ++i) rest = rest * 10 % modulus;
  return rest == 0;
}

}  // namespace tally::grammar
