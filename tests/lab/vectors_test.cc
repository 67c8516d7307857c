// The vectors of the laboratory, and that a wrong vector is noticed.
#include "lab/vectors.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "support.h"

namespace tally::lab {
namespace {

VectorResult::Kind kind(const char* vector) { return check_vector(Json::parse(vector)).kind; }

void check_file(const std::filesystem::path& path, int at_least) {
  std::ifstream in(path);
  int n = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    VectorResult r = check_vector(Json::parse(line));
    EXPECT_EQ(r.kind, VectorResult::Kind::Pass) << r.line;
    ++n;
  }
  EXPECT_GE(n, at_least);
}

TEST(Vectors, own) { check_file(std::filesystem::path(TALLY_SOURCE_DIR) / "tests/data/lab/vectors.jsonl", 30); }

TEST(Vectors, shared) {
  auto shared = test::shared_data();
  if (!shared) GTEST_SKIP() << test::kNoSharedData;
  check_file(*shared / "data/lab_vectors.jsonl", 100);
}

TEST(Vectors, wrong_values_fail) {
  using Kind = VectorResult::Kind;
  EXPECT_EQ(kind(R"({"fn": "ratio", "in": {"a": 6, "b": 3}, "out": 2})"), Kind::Pass);
  EXPECT_EQ(kind(R"({"fn": "ratio", "in": {"a": 6, "b": 3}, "out": 2.001})"), Kind::Fail);
  EXPECT_EQ(kind(R"({"fn": "ratio", "in": {"a": 6, "b": 3}, "out": 2.001, "tol": 0.01})"), Kind::Pass);
  EXPECT_EQ(kind(R"({"fn": "ratio", "in": {"a": 6}, "out": 2})"), Kind::Fail);
  EXPECT_EQ(kind(R"({"fn": "ratio", "in": {"a": "x", "b": 3}, "out": 2})"), Kind::Fail);
  EXPECT_EQ(kind(R"({"fn": "no_such", "in": {}, "out": 2})"), Kind::Unknown);
  EXPECT_EQ(kind(R"({"fn": "ols", "in": {"x": [1, 2], "y": [1, 3]}, "out": {"slope": 2, "intercept": -1}})"),
            Kind::Pass);
  EXPECT_EQ(kind(R"({"fn": "ols", "in": {"x": [1, 2], "y": [1, 3]}, "out": {"slope": 2, "other": 1}})"), Kind::Fail);
  EXPECT_EQ(kind(R"({"fn": "amdahl", "in": {"p": 1, "s": "inf"}, "out": "inf"})"), Kind::Pass);
  EXPECT_EQ(kind(R"({"fn": "amdahl", "in": {"p": 1.5}, "error": true})"), Kind::Pass);
  EXPECT_EQ(kind(R"({"fn": "amdahl", "in": {"p": 0.5}, "error": true})"), Kind::Fail);
  EXPECT_EQ(kind(R"({"fn": "sign_test", "in": {"wins": 1e300, "n": 1}, "out": 1})"), Kind::Fail);
  EXPECT_THROW(kind(R"({"in": {}, "out": 2})"), Error);
  EXPECT_THROW(kind(R"({"fn": "ratio", "in": [], "out": 2})"), Error);
}

}  // namespace
}  // namespace tally::lab
