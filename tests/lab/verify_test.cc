// The gate passes what is right, finds what is wrong, and does not pass when it cannot find a fault.
#include "lab/verify.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "lab/engine_runs.h"

namespace tally::lab {
namespace {

Verified run(const std::string& model, const VerifyOptions& options, bool exact = false) {
  gguf::File file = gguf::File::open(std::string(TALLY_SOURCE_DIR) + "/" + model);
  runtime::EngineOptions engine;
  engine.n_threads = 2, engine.exact = exact;
  return verify(file, engine, options);
}

TEST(Verify, PassesModelsWithAndWithoutExperts) {
  for (const char* model : {"tests/data/tiny/qwen35moe.gguf", "tests/data/tiny/gemma3.gguf"})
    for (bool exact : {false, true}) {
      Verified v = run(model, {.n_tokens = 10}, exact);
      EXPECT_TRUE(v.passed) << model;
      EXPECT_TRUE(v.not_covered.empty());
      ASSERT_EQ(v.model.size(), 2u);
      std::set<int> rows;
      for (const VerifiedOps& k : v.ops) {
        rows.insert(k.plan_rows);
        EXPECT_EQ(k.clean.out, 0u) << k.op;
        EXPECT_GT(k.clean.n, 0u);
        EXPECT_GT(k.faulty.out, 0u) << k.op;
      }
      EXPECT_EQ(rows, (std::set<int>{1, 8, 64, 512}));
      for (const Verified::Model& m : v.model) EXPECT_TRUE(m.same_path && m.gate.passed) << m.path;
    }
}

TEST(Verify, ATightToleranceFails) {
  Verified v = run("tests/data/tiny/qwen35moe.gguf", {.n_tokens = 10, .tolerance_scale = 1e-4});
  EXPECT_FALSE(v.passed);
  int n_failed = 0;
  for (const VerifiedOps& k : v.ops) n_failed += k.n_failed;
  EXPECT_GT(n_failed, 0) << "8-bit activations are not exact to a part in ten thousand of what they may be off";
  EXPECT_FALSE(v.model[0].gate.passed);
}

TEST(Verify, AFaultThatIsNotFoundFails) {
  for (double fault : {0.0, 1e-6}) {
    Verified v = run("tests/data/tiny/gemma3.gguf", {.n_tokens = 10, .fault = fault});
    EXPECT_FALSE(v.passed) << fault;
    for (const VerifiedOps& k : v.ops) EXPECT_EQ(k.n_failed, 0) << k.op;
    bool blind = false;
    for (const VerifiedOps& k : v.ops) blind |= k.n_blind > 0;
    EXPECT_TRUE(blind);
  }
}

TEST(Verify, WritesWhatItFound) {
  const VerifyOptions options{.n_tokens = 4};
  Verified v = run("tests/data/tiny/gemma3.gguf", options);
  test::LabRun r = test::run_lab([&](Output& out) { EXPECT_EQ(write_verified(v, options, out), v.passed); });
  ASSERT_EQ(r.blocks.size(), 2u);
  for (const Json& op : r.blocks["verify.ops"]["values"]["ops"]) {
    EXPECT_EQ(op["correctness"]["out_of_tol"], 0);
    EXPECT_GT(op["correctness"]["fault_control"].get<int>(), 0);
  }
  v.ops[0].n_failed = 1, v.passed = false;
  r = test::run_lab([&](Output& out) { EXPECT_FALSE(write_verified(v, options, out)); });
  EXPECT_NE(r.blocks["verify.ops"]["verdict"].get<std::string>().find("FAILED"), std::string::npos);
}

TEST(Verify, TheReferenceIsNotHeldAgainstItself) {
  gguf::File file = gguf::File::open(std::string(TALLY_SOURCE_DIR) + "/tests/data/tiny/gemma3.gguf");
  runtime::EngineOptions engine;
  engine.device = "reference";
  EXPECT_THROW(verify(file, engine, {}), Error);
  engine.device = "cpu";
  EXPECT_THROW(verify(file, engine, {.n_tokens = 1}), Error);
}

}  // namespace
}  // namespace tally::lab
