// The trace closes: dispatches and gaps together are the wall time, to the nanosecond.
#include "app/trace_out.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "runtime/models.h"
#include "support.h"

namespace tally::app {
namespace {

nlohmann::json read_trace(const std::string& path) { return nlohmann::json::parse(std::ifstream(path)); }

int64_t ns(const nlohmann::json& micros) { return std::llround(micros.get<double>() * 1000); }

// Durations by track; checks that events of a trace lie end to end and in order.
std::map<int, int64_t> tracks(const nlohmann::json& trace) {
  std::map<int, int64_t> out;
  int64_t at = 0;
  for (const auto& e : trace["traceEvents"]) {
    if (e["ph"] != "X") continue;
    EXPECT_EQ(ns(e["ts"]), at);
    at += ns(e["dur"]);
    out[e["tid"].get<int>()] += ns(e["dur"]);
  }
  return out;
}

TEST(TraceOut, ClosesOnARealRun) {
  const test::TemporaryFolder folder;
  ledger::Ledger ledger;
  runtime::EngineOptions options;
  options.ledger = &ledger;
  test::Opened m(test::bundled(), options);
  ledger.keep(1 << 20);
  const uint64_t begin = now_ns();
  std::vector<int32_t> tokens = test::random_tokens(10, m.engine->vocab_size(), 6);
  test::all_logits(*m.engine, tokens);
  ledger.reset_totals();  // as commands do between prompt and generation: the trace must not lose anything
  test::all_logits(*m.engine, {tokens.data(), 1});
  const uint64_t end = now_ns();
  write_trace(folder.file("t.json"), ledger, begin, end, R"({"model":"x"})");

  const nlohmann::json trace = read_trace(folder.file("t.json"));
  EXPECT_EQ(trace["otherData"]["provenance"]["model"], "x");
  std::map<int, int64_t> sums = tracks(trace);
  EXPECT_EQ(sums[1] + sums[2], int64_t(end - begin));
  uint64_t number = 0;
  std::set<uint64_t> runs;
  for (const auto& e : trace["traceEvents"]) {
    if (e["ph"] != "X" || e["tid"] != 1) continue;
    const auto& args = e["args"];
    const ledger::StepInfo& s = ledger.plans()[args["plan"].get<size_t>()].steps[args["step"].get<size_t>()];
    EXPECT_EQ(e["name"], s.segment);
    EXPECT_EQ(args["kernel"], s.kernel);
    EXPECT_EQ(args["layer"], s.layer);
    EXPECT_EQ(args["dispatch"], number++);
    EXPECT_GT(args["bytes"].get<uint64_t>(), 0u);
    EXPECT_TRUE(args["rows"] == 10 || args["rows"] == 1);
    EXPECT_FALSE(s.shape.empty());
    runs.insert(args["run"].get<uint64_t>());
  }
  EXPECT_EQ(number, ledger.kept().size());
  EXPECT_EQ(runs, (std::set<uint64_t>{0, 1})) << "numbers of runs go on after reset_totals";
}

TEST(TraceOut, SaysWhatItDidNotKeepAndQuotesNames) {
  const test::TemporaryFolder folder;
  ledger::Ledger ledger;
  ledger.keep(1);
  const std::vector<ledger::StepInfo> steps{{"k\"", "o\\", "seg</script>\n", 0, 0, 1, "2x2"}};
  uint32_t plan = ledger.add_plan("p", "", steps);
  for (uint64_t run = 0; run < 3; ++run) {
    ledger::Dispatch d{};
    d.begin_ns = 100 + run * 50, d.end_ns = d.begin_ns + 20, d.plan = plan;
    ledger.add_run(plan, d.begin_ns, d.end_ns, 1, {&d, 1});
  }
  write_trace(folder.file("t.json"), ledger, 90, 300, "{}");
  const nlohmann::json trace = read_trace(folder.file("t.json"));
  EXPECT_EQ(trace["otherData"]["not_kept"], 2);
  std::map<int, int64_t> sums = tracks(trace);
  EXPECT_EQ(sums[1], 20);
  EXPECT_EQ(sums[2], 10) << "what follows the last kept dispatch is not known to be a gap";
  EXPECT_EQ(trace["traceEvents"].back()["name"], steps[0].segment);
  EXPECT_THROW(write_trace(folder.file("no/such/folder"), ledger, 0, 1, "{}"), Error);
}

}  // namespace
}  // namespace tally::app
