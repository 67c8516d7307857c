// What measurements do to plans: inert dispatches change counts and nothing else; what is left out does not run.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/error.h"
#include "runtime/models.h"

namespace tally {
namespace {

struct Measured : test::Opened {
  explicit Measured(const std::string& path, runtime::EngineOptions options = {})
      : Measured(path, options, std::make_unique<ledger::Ledger>()) {}
  std::unique_ptr<ledger::Ledger> ledger;

 private:
  Measured(const std::string& path, runtime::EngineOptions options, std::unique_ptr<ledger::Ledger> l)
      : test::Opened(path, with(options, l.get())), ledger(std::move(l)) {}
  static runtime::EngineOptions with(runtime::EngineOptions o, ledger::Ledger* l) {
    o.ledger = l;
    return o;
  }
};

class EveryInstrumentedModel : public testing::TestWithParam<std::string> {};

TEST_P(EveryInstrumentedModel, InertDispatchesChangeCountsOnly) {
  Measured m(GetParam());
  std::vector<int32_t> tokens = test::random_tokens(20, m.engine->vocab_size(), 3);
  std::vector<float> want = test::all_logits(*m.engine, tokens);
  const uint64_t plain = m.ledger->n_dispatches();
  for (double rate : {0.5, 1.0, 3.0}) {
    m.ledger->reset_totals();
    m.engine->instrument({.inert = rate});
    EXPECT_EQ(test::all_logits(*m.engine, tokens), want) << rate;
    EXPECT_EQ(m.ledger->n_dispatches(), plain + uint64_t(double(plain) * rate)) << rate;
    uint64_t n_inert = 0;
    const ledger::PlanRecord& plan = m.ledger->plans().back();
    for (size_t s = 0; s < plan.steps.size(); ++s)
      if (plan.steps[s].kernel == "inert") {
        n_inert += plan.totals[s].n;
        EXPECT_EQ(plan.totals[s].bytes + plan.totals[s].flops, 0u);
      }
    EXPECT_EQ(n_inert, uint64_t(double(plain) * rate));
    EXPECT_NE(plan.name.find("% inert"), std::string::npos) << plan.name;
  }
}

// Any segment of any model: either it is refused, or the rest runs, with finite numbers and the same number of runs.
TEST_P(EveryInstrumentedModel, EachSegmentCanBeLeftOutOrIsRefused) {
  Measured m(GetParam(), {.n_sequences = 32});  // a refusal keeps the slot of its sequence
  std::vector<int32_t> tokens = test::random_tokens(12, m.engine->vocab_size(), 4);
  std::vector<float> want = test::all_logits(*m.engine, tokens);
  const std::vector<ledger::StepInfo> steps = m.ledger->plans()[0].steps;
  std::set<std::string> segments, refused;
  for (const ledger::StepInfo& s : steps) segments.insert(s.segment);
  for (const std::string& segment : segments) {
    m.ledger->reset_totals();
    m.engine->instrument({.without = segment});
    try {
      for (int repeat = 0; repeat < 3; ++repeat) {
        std::vector<float> got = test::all_logits(*m.engine, tokens);
        for (float x : got) ASSERT_TRUE(std::isfinite(x)) << segment;
      }
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::Usage) << segment << ": " << e.what();
      refused.insert(segment);
      continue;
    }
    const ledger::PlanRecord& plan = m.ledger->plans().back();
    EXPECT_NE(plan.name.find("without " + segment), std::string::npos);
    EXPECT_LT(plan.steps.size(), steps.size());
    for (const ledger::StepInfo& s : plan.steps) EXPECT_NE(s.segment, segment);
  }
  EXPECT_TRUE(refused.contains("embedding"));
  for (const std::string& segment : refused)
    EXPECT_TRUE(segment == "embedding" || segment == "router" || segment == "select") << segment;
  m.engine->instrument({});
  EXPECT_EQ(test::all_logits(*m.engine, tokens), want) << "what a measurement did is gone";
}

INSTANTIATE_TEST_SUITE_P(Models, EveryInstrumentedModel, testing::ValuesIn(test::all_models()), [](const auto& i) {
  std::string name = std::filesystem::path(i.param).stem().string();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(Instruments, UnknownComponentsAndRatesAreRefused) {
  Measured m(test::bundled());
  std::vector<int32_t> tokens{1, 2, 3};
  for (const backend::Instruments& bad : {backend::Instruments{.without = "nonsense"},
                                          backend::Instruments{.inert = -1}, backend::Instruments{.inert = 1e9}}) {
    m.engine->instrument(bad);
    EXPECT_THROW(test::all_logits(*m.engine, tokens), Error);
  }
  Measured reference(test::bundled(), {.device = "reference"});
  reference.engine->instrument({.inert = 1});
  EXPECT_THROW(test::all_logits(*reference.engine, tokens), Error) << "the reference takes none";
}

TEST(Instruments, UntimedRunsAreCounted) {
  Measured m(test::bundled());
  std::vector<int32_t> tokens = test::random_tokens(9, m.engine->vocab_size(), 5);
  std::vector<float> want = test::all_logits(*m.engine, tokens);
  const uint64_t n = m.ledger->n_dispatches();
  m.ledger->reset_totals();
  m.ledger->set_timed(false);
  EXPECT_EQ(test::all_logits(*m.engine, tokens), want);
  EXPECT_EQ(m.ledger->n_dispatches(), n);
  const ledger::PlanRecord& plan = m.ledger->plans()[0];
  EXPECT_EQ(plan.n_runs, 1u);
  EXPECT_EQ(plan.n_timed, 0u);
  EXPECT_GT(plan.run_ns, 0u);
  EXPECT_EQ(plan.totals[0].n, 0u);
}

}  // namespace
}  // namespace tally
