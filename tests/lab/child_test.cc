#include "lab/child.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "lab/target_kinds.h"

namespace tally::lab {
namespace {

TEST(Child, output_and_status) {
  ChildResult r = run_child({"/bin/sh", "-c", "echo out; echo err >&2; exit 7"});
  EXPECT_EQ(r.status, 7);
  EXPECT_EQ(r.out, "out\n");
  EXPECT_EQ(r.err, "err\n");
  EXPECT_GT(r.wall_ms, 0);
}

TEST(Child, failure_shows_its_last_words) {
  try {
    run_child_ok({"/bin/sh", "-c", "echo the model is missing >&2; exit 3"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Failed);
    EXPECT_NE(std::string(e.what()).find("status 3"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("the model is missing"), std::string::npos) << e.what();
  }
}

TEST(Child, missing_program) {
  try {
    run_child({"/no/such/program"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::BadInput);
  }
}

// The whole group ends: the shell's own child too, which would hold the pipe open.
TEST(Child, timeout_ends_the_group) {
  try {
    run_child({"/bin/sh", "-c", "sleep 100 & sleep 100"}, {.timeout_s = 0.1});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Failed);
    EXPECT_NE(std::string(e.what()).find("--timeout"), std::string::npos);
  }
}

TEST(Child, long_output_arrives_whole_and_has_a_limit) {
  std::vector<std::string> argv{"/bin/sh", "-c", "head -c 300000 /dev/zero"};
  EXPECT_EQ(run_child(argv).out.size(), 300000u);
  EXPECT_THROW(run_child(argv, {.max_output = 1000}), Error);
}

TEST(Child, a_grandchild_that_stays_does_not_hold_us) {
  ChildResult r = run_child({"/bin/sh", "-c", "sleep 1 & echo done"}, {.timeout_s = 0.9});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.out, "done\n");
}

TEST(Child, words) {
  using V = std::vector<std::string>;
  EXPECT_EQ(split_words("  a  b\tc "), (V{"a", "b", "c"}));
  EXPECT_EQ(split_words("a 'b c' \"d e\"f g\\ h ''"), (V{"a", "b c", "d ef", "g h", ""}));
  EXPECT_EQ(split_words(""), V{});
  EXPECT_THROW(split_words("a 'b"), Error);
}

TEST(Child, placeholders) {
  EXPECT_EQ(fill_in("-p {n} '{\"a\": 1}' {x1}", {{"n", "5"}}), "-p 5 '{\"a\": 1}' {x1}");
  EXPECT_THROW(fill_in("{nn}", {{"n", "5"}}), Error);
}

}  // namespace
}  // namespace tally::lab
