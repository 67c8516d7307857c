// Integers beyond 64 bits, as templates rarely need them: sign and magnitude, schoolbook algorithms (Knuth, The Art of
// Computer Programming, vol. 2, 4.3.1). Sizes are bounded by kBigIntBits; the caller checks `too_large`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tally::text::jinja {

inline constexpr size_t kBigIntBits = 14'000;  // below Python's own limit of 4,300 digits for conversion to text

class BigInt {
 public:
  BigInt() = default;
  explicit BigInt(int64_t value);
  // Digits of the given base (2 to 36), no sign, no separators; all valid.
  static BigInt parse(std::string_view digits, int base);
  static BigInt from_double(double whole);  // finite, a whole number

  bool fits_int64() const;
  int64_t to_int64() const;  // only when it fits
  double to_double() const;  // rounded to nearest, infinite when too large
  std::string to_string(int base = 10) const;
  bool zero() const { return words_.empty(); }
  bool negative() const { return negative_; }
  bool odd() const { return !words_.empty() && (words_[0] & 1); }
  size_t bits() const;
  bool too_large() const { return bits() > kBigIntBits; }

  BigInt operator-() const;
  BigInt operator+(const BigInt& o) const;
  BigInt operator-(const BigInt& o) const;
  BigInt operator*(const BigInt& o) const;
  // Rounded towards minus infinity, as in Python; the divisor is not zero.
  static void divide(const BigInt& a, const BigInt& b, BigInt* quotient, BigInt* remainder);
  int compare(const BigInt& o) const;  // -1, 0, 1

 private:
  using Words = std::vector<uint32_t>;
  static int compare_words(const Words& a, const Words& b);
  static Words add_words(const Words& a, const Words& b);
  static Words subtract_words(const Words& a, const Words& b);  // a >= b
  static void divide_words(const Words& a, const Words& b, Words* q, Words* r);
  static uint32_t divide_small(Words* words, uint32_t divisor);  // returns the remainder
  void trim();
  Words words_;  // little-endian, no leading zero
  bool negative_ = false;
};

}  // namespace tally::text::jinja
