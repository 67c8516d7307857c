#include "lab/measuring.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "scripted_target.h"

namespace tally::lab {
namespace {

TEST(Measuring, every_order_of_few_variants_comes_and_neighbours_mirror) {
  for (int n : {2, 3, 4}) {
    std::set<std::vector<int>> orders;
    int n_orders = n == 2 ? 2 : n == 3 ? 6 : 24;
    for (int round = 0; round < n_orders; ++round) {
      std::vector<int> order = permutation(n, round);
      orders.insert(order);
      if (round % 2 == 1) {
        std::vector<int> before = permutation(n, round - 1);
        EXPECT_EQ(order, std::vector<int>(before.rbegin(), before.rend()));
      }
    }
    EXPECT_EQ(int(orders.size()), n_orders);
  }
  EXPECT_EQ(permutation(1, 5), std::vector<int>{0});
}

// Each variant is as often in each place.
TEST(Measuring, many_variants_rotate_evenly) {
  std::vector<std::vector<int>> seen(7, std::vector<int>(7));
  for (int round = 0; round < 14; ++round) {
    std::vector<int> order = permutation(7, round);
    for (int at = 0; at < 7; ++at) ++seen[order[at]][at];
  }
  for (const auto& places : seen)
    for (int n : places) EXPECT_EQ(n, 2);
}

TEST(Measuring, shapes_of_lists) {
  ShapeArgs a;
  a.prompts = {512, 0, 128}, a.gens = {16}, a.depths = {0, 64}, a.batches = {1, 4};
  std::vector<std::string> names;
  for (const TestShape& s : a.shapes()) names.push_back(s.name());
  EXPECT_EQ(names, (std::vector<std::string>{"pp512", "pp128", "tg16", "tg16@b4", "pp512@d64", "pp128@d64", "tg16@d64",
                                             "tg16@d64@b4"}));
  a.prompts = {0}, a.gens = {0};
  EXPECT_THROW(a.shapes(), Error);
}

TEST(Measuring, the_median_of_the_runs_counts) {
  std::vector<Measurement> runs(4);
  double ms[] = {5, 1, 9, 3};
  for (int i = 0; i < 4; ++i) runs[i].ms = ms[i];
  EXPECT_EQ(median_of(runs).ms, 3);
  runs.pop_back();
  EXPECT_EQ(median_of(runs).ms, 5);
}

TEST(Measuring, rounds_ask_every_variant_in_rotated_order) {
  std::vector<std::string> log;
  test::ScriptedTarget a("a", [&](const TestShape&) { return log.push_back("a"), 1.0; });
  test::ScriptedTarget b("b", [&](const TestShape&) { return log.push_back("b"), 2.0; });
  Output output("test", std::nullopt, Json::object());
  Rounds r = measure_rounds({{"a", &a}, {"b", &b}}, {{.n_prompt = 8}}, 4, output);
  EXPECT_EQ(log, (std::vector<std::string>{"a", "b", "b", "a", "a", "b", "b", "a"}));
  ASSERT_EQ(r.of[1][0].size(), 4u);
  EXPECT_EQ(r.of[1][0][0].ms, 2);
}

TEST(Measuring, different_weights_are_refused_and_named) {
  test::ScriptedTarget a("a"), b("b"), c("c");
  a.weights = std::string(64, '1'), c.weights = std::string(64, '2');
  std::vector<std::string> notes;
  EXPECT_EQ(require_same_weights({{"a", &a}, {"b", &b}}, &notes), a.weights);
  ASSERT_EQ(notes.size(), 1u);  // b's are not known
  try {
    require_same_weights({{"a", &a}, {"b", &b}, {"c", &c}}, &notes);
    FAIL();
  } catch (const Error& e) {
    std::string what = e.what();
    EXPECT_NE(what.find("a runs 111111111111"), std::string::npos) << what;
    EXPECT_NE(what.find("c runs 222222222222"), std::string::npos) << what;
  }
}

TEST(Measuring, rates_as_text) {
  EXPECT_EQ(rate_text(783.7999, true), "≥ 783.8");
  EXPECT_EQ(rate_text(12345.6, false), "12346");
  EXPECT_EQ(rate_text(0.012344, false), "0.01234");
  EXPECT_EQ(rate_text(0, false), "0");
}

}  // namespace
}  // namespace tally::lab
