#include "text/jinja_bigint.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace tally::text::jinja {

BigInt::BigInt(int64_t value) : negative_(value < 0) {
  uint64_t m = negative_ ? ~static_cast<uint64_t>(value) + 1 : static_cast<uint64_t>(value);
  for (; m; m >>= 32) words_.push_back(static_cast<uint32_t>(m));
}

void BigInt::trim() {
  while (!words_.empty() && words_.back() == 0) words_.pop_back();
  if (words_.empty()) negative_ = false;
}

BigInt BigInt::parse(std::string_view digits, int base) {
  BigInt r;
  for (char c : digits) {
    const int digit = c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
    uint64_t carry = static_cast<uint64_t>(digit);
    for (auto& w : r.words_) {
      carry += static_cast<uint64_t>(w) * static_cast<uint64_t>(base);
      w = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry) r.words_.push_back(static_cast<uint32_t>(carry));
  }
  r.trim();
  return r;
}

BigInt BigInt::from_double(double whole) {
  int exponent;
  const double fraction = std::frexp(std::fabs(whole), &exponent);
  BigInt r;
  if (whole == 0) return r;
  uint64_t mantissa = static_cast<uint64_t>(std::ldexp(fraction, 53));
  int shift = exponent - 53;
  if (shift < 0) {
    mantissa >>= std::min(-shift, 63);
    shift = 0;
  }
  r.words_.assign(static_cast<size_t>(shift / 32), 0);
  const int bit = shift % 32;
  const uint64_t low = mantissa << bit, high = bit ? mantissa >> (64 - bit) : 0;
  for (uint64_t part : {low & 0xffffffffu, low >> 32, high}) r.words_.push_back(static_cast<uint32_t>(part));
  r.negative_ = whole < 0;
  r.trim();
  return r;
}

size_t BigInt::bits() const {
  if (words_.empty()) return 0;
  return words_.size() * 32 - static_cast<size_t>(__builtin_clz(words_.back()));
}

bool BigInt::fits_int64() const {
  if (bits() <= 63) return true;
  return negative_ && words_.size() == 2 && words_[1] == 0x80000000u && words_[0] == 0;
}

int64_t BigInt::to_int64() const {
  uint64_t m = 0;
  for (size_t i = words_.size(); i-- > 0;) m = m << 32 | words_[i];
  return static_cast<int64_t>(negative_ ? ~m + 1 : m);
}

double BigInt::to_double() const {
  // strtod rounds hexadecimal text correctly.
  const std::string digits = to_string(16);
  const double magnitude = std::strtod(("0x" + digits.substr(negative_ ? 1 : 0)).c_str(), nullptr);
  return negative_ ? -magnitude : magnitude;
}

uint32_t BigInt::divide_small(Words* words, uint32_t divisor) {
  uint64_t rest = 0;
  for (size_t i = words->size(); i-- > 0;) {
    rest = rest << 32 | (*words)[i];
    (*words)[i] = static_cast<uint32_t>(rest / divisor);
    rest %= divisor;
  }
  while (!words->empty() && words->back() == 0) words->pop_back();
  return static_cast<uint32_t>(rest);
}

std::string BigInt::to_string(int base) const {
  if (words_.empty()) return "0";
  std::string s;
  for (Words w = words_; !w.empty();)
    s += "0123456789abcdefghijklmnopqrstuvwxyz"[divide_small(&w, static_cast<uint32_t>(base))];
  if (negative_) s += '-';
  std::reverse(s.begin(), s.end());
  return s;
}

int BigInt::compare_words(const Words& a, const Words& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (size_t i = a.size(); i-- > 0;)
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  return 0;
}

int BigInt::compare(const BigInt& o) const {
  if (negative_ != o.negative_) return negative_ ? -1 : 1;
  const int c = compare_words(words_, o.words_);
  return negative_ ? -c : c;
}

BigInt::Words BigInt::add_words(const Words& a, const Words& b) {
  Words r(std::max(a.size(), b.size()) + 1);
  uint64_t carry = 0;
  for (size_t i = 0; i < r.size(); ++i) {
    carry += (i < a.size() ? a[i] : 0ull) + (i < b.size() ? b[i] : 0ull);
    r[i] = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  return r;
}

BigInt::Words BigInt::subtract_words(const Words& a, const Words& b) {
  Words r(a.size());
  int64_t borrow = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    int64_t d = static_cast<int64_t>(a[i]) - (i < b.size() ? b[i] : 0) + borrow;
    borrow = d < 0 ? -1 : 0;
    r[i] = static_cast<uint32_t>(d);
  }
  return r;
}

BigInt BigInt::operator-() const {
  BigInt r = *this;
  r.negative_ = !negative_ && !zero();
  return r;
}

BigInt BigInt::operator+(const BigInt& o) const {
  BigInt r;
  if (negative_ == o.negative_) {
    r.words_ = add_words(words_, o.words_);
    r.negative_ = negative_;
  } else if (compare_words(words_, o.words_) >= 0) {
    r.words_ = subtract_words(words_, o.words_);
    r.negative_ = negative_;
  } else {
    r.words_ = subtract_words(o.words_, words_);
    r.negative_ = o.negative_;
  }
  r.trim();
  return r;
}

BigInt BigInt::operator-(const BigInt& o) const { return *this + -o; }

BigInt BigInt::operator*(const BigInt& o) const {
  BigInt r;
  r.words_.assign(words_.size() + o.words_.size(), 0);
  for (size_t i = 0; i < words_.size(); ++i) {
    uint64_t carry = 0;
    for (size_t j = 0; j < o.words_.size(); ++j) {
      carry += r.words_[i + j] + static_cast<uint64_t>(words_[i]) * o.words_[j];
      r.words_[i + j] = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    r.words_[i + o.words_.size()] = static_cast<uint32_t>(carry);
  }
  r.negative_ = negative_ != o.negative_;
  r.trim();
  return r;
}

// Algorithm D; both normalised so that the divisor's top bit is set.
void BigInt::divide_words(const Words& a, const Words& b, Words* q, Words* r) {
  if (compare_words(a, b) < 0) {
    q->clear();
    *r = a;
    return;
  }
  if (b.size() == 1) {
    *q = a;
    const uint32_t rest = divide_small(q, b[0]);
    r->assign(rest ? 1 : 0, rest);
    return;
  }
  const int shift = __builtin_clz(b.back());
  auto shifted = [shift](const Words& w, size_t extra) {
    Words s(w.size() + extra);
    for (size_t i = 0; i < w.size(); ++i) {
      const uint64_t x = static_cast<uint64_t>(w[i]) << shift;
      s[i] |= static_cast<uint32_t>(x);
      if (i + 1 < s.size()) s[i + 1] = static_cast<uint32_t>(x >> 32);
    }
    return s;
  };
  const Words v = shifted(b, 0);
  Words u = shifted(a, 1);
  const size_t n = v.size(), m = u.size() - n;
  q->assign(m, 0);
  for (size_t j = m; j-- > 0;) {
    const uint64_t top = static_cast<uint64_t>(u[j + n]) << 32 | u[j + n - 1];
    uint64_t guess = top / v[n - 1], rest = top % v[n - 1];
    while (guess >> 32 || guess * v[n - 2] > (rest << 32 | u[j + n - 2])) {
      --guess;
      rest += v[n - 1];
      if (rest >> 32) break;
    }
    int64_t borrow = 0;
    uint64_t carry = 0;
    for (size_t i = 0; i < n; ++i) {
      carry += guess * v[i];
      const int64_t d = static_cast<int64_t>(u[i + j]) - static_cast<int64_t>(carry & 0xffffffffu) + borrow;
      u[i + j] = static_cast<uint32_t>(d);
      borrow = d >> 32;
      carry >>= 32;
    }
    const int64_t d = static_cast<int64_t>(u[j + n]) - static_cast<int64_t>(carry) + borrow;
    u[j + n] = static_cast<uint32_t>(d);
    if (d < 0) {
      --guess;
      uint64_t sum = 0;
      for (size_t i = 0; i < n; ++i) {
        sum += static_cast<uint64_t>(u[i + j]) + v[i];
        u[i + j] = static_cast<uint32_t>(sum);
        sum >>= 32;
      }
      u[j + n] += static_cast<uint32_t>(sum);
    }
    (*q)[j] = static_cast<uint32_t>(guess);
  }
  r->assign(n, 0);
  for (size_t i = 0; i < n; ++i)
    (*r)[i] = static_cast<uint32_t>((static_cast<uint64_t>(u[i + 1]) << 32 | u[i]) >> shift);
}

void BigInt::divide(const BigInt& a, const BigInt& b, BigInt* quotient, BigInt* remainder) {
  BigInt q, r;
  divide_words(a.words_, b.words_, &q.words_, &r.words_);
  q.negative_ = a.negative_ != b.negative_;
  r.negative_ = a.negative_;
  q.trim();
  r.trim();
  if (!r.zero() && r.negative_ != b.negative_) {
    r = r + b;
    q = q - BigInt(1);
  }
  if (quotient) *quotient = std::move(q);
  if (remainder) *remainder = std::move(r);
}

}  // namespace tally::text::jinja
