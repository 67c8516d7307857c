// Integers beyond 64 bits, against arithmetic in 128 bits and against their own inverses.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "text/jinja_bigint.h"

namespace tally::text::jinja {
namespace {

std::string text_of(__int128 v) {
  if (v == 0) return "0";
  const bool negative = v < 0;
  std::string s;
  for (; v != 0; v /= 10) s.insert(s.begin(), static_cast<char>('0' + static_cast<int>(negative ? -(v % 10) : v % 10)));
  return negative ? "-" + s : s;
}

int64_t draw(uint64_t counter) {
  const uint64_t bits = random_u64(5, counter);
  return static_cast<int64_t>(bits) >> (random_u64(6, counter) % 63);
}

TEST(BigInt, AgreesWith128Bits) {
  for (uint64_t i = 0; i < 20000; ++i) {
    const int64_t a = draw(2 * i), b = draw(2 * i + 1);
    const BigInt x(a), y(b);
    EXPECT_EQ((x + y).to_string(), text_of(static_cast<__int128>(a) + b));
    EXPECT_EQ((x - y).to_string(), text_of(static_cast<__int128>(a) - b));
    EXPECT_EQ((x * y).to_string(), text_of(static_cast<__int128>(a) * b));
    EXPECT_EQ(x.compare(y), a < b ? -1 : a > b);
    EXPECT_TRUE(x.fits_int64());
    EXPECT_EQ(x.to_int64(), a);
  }
}

TEST(BigInt, DivisionIsTheInverse) {
  for (uint64_t i = 0; i < 3000; ++i) {
    BigInt a(1), b(1);
    for (uint64_t k = 0; k <= random_u64(7, i) % 9; ++k)
      a = a * BigInt(draw(i * 40 + k)) + BigInt(draw(i * 40 + k + 20));
    for (uint64_t k = 0; k <= random_u64(8, i) % 5; ++k)
      b = b * BigInt(draw(i * 40 + k + 9)) + BigInt(draw(i * 40 + k + 30));
    if (b.zero()) continue;
    BigInt q, r;
    BigInt::divide(a, b, &q, &r);
    EXPECT_EQ((q * b + r).compare(a), 0);
    if (!r.zero()) {
      EXPECT_EQ(r.negative(), b.negative());
      EXPECT_LT((r.negative() ? -r : r).compare(b.negative() ? -b : b), 0);
    }
    EXPECT_EQ(BigInt::parse((a.negative() ? -a : a).to_string(), 10).compare(a.negative() ? -a : a), 0);
  }
}

TEST(BigInt, Doubles) {
  for (double d : {0.0, 1.0, -1.0, 9007199254740993.0, 1e18, -1e19, 1e22, 1.7976931348623157e308, 0x1p63, -0x1p63}) {
    EXPECT_EQ(BigInt::from_double(d).to_double(), d);
  }
  EXPECT_EQ(BigInt::from_double(-0x1p63).to_int64(), INT64_MIN);
  EXPECT_FALSE(BigInt::from_double(0x1p63).fits_int64());
}

}  // namespace
}  // namespace tally::text::jinja
