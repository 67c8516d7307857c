#include "ledger/ledger.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support.h"

namespace tally::ledger {
namespace {

std::vector<Dispatch> two_steps(uint64_t begin_ns) {
  Dispatch first{};
  first.begin_ns = begin_ns;
  first.end_ns = begin_ns + 10;
  first.step = 0;
  first.rows = 2;
  first.bytes = 100;
  first.flops = 1000;
  Dispatch second = first;
  second.begin_ns = begin_ns + 10;
  second.end_ns = begin_ns + 40;
  second.step = 1;
  second.bytes = 7;
  return {first, second};
}

const std::vector<StepInfo> kSteps = {{.kernel = "linear_\"x\"", .op = "linear", .segment = "a\\b\nc", .layer = 3},
                                      {.kernel = "rms_norm", .op = "rms_norm", .segment = "norm"}};

TEST(Ledger, totals_and_ring) {
  Ledger ledger(3);
  const uint32_t plan = ledger.add_plan("decode", "text", kSteps);
  for (uint64_t run = 0; run < 5; ++run) ledger.add_run(plan, run * 100, run * 100 + 50, 2, two_steps(run * 100));
  EXPECT_EQ(ledger.n_dispatches(), 10u);
  EXPECT_EQ(ledger.n_batches(), 5u);
  const PlanRecord& record = ledger.plans()[plan];
  EXPECT_EQ(record.n_runs, 5u);
  EXPECT_EQ(record.n_rows, 10u);
  EXPECT_EQ(record.run_ns, 250u);
  EXPECT_EQ(record.totals[1].n, 5u);
  EXPECT_EQ(record.totals[1].ns, 150u);
  EXPECT_EQ(record.totals[0].bytes, 500u);
  EXPECT_EQ(record.totals[0].flops, 5000u);

  const auto recent = ledger.recent();  // the last three of ten, oldest first
  ASSERT_EQ(recent.size(), 3u);
  EXPECT_EQ(recent[0].step, 1u);
  EXPECT_EQ(recent[0].batch, 3u);
  EXPECT_EQ(recent[1].begin_ns, 400u);
  EXPECT_EQ(recent[2].batch, 4u);

  ledger.reset_totals();
  EXPECT_EQ(ledger.n_dispatches(), 0u);
  EXPECT_EQ(ledger.plans()[plan].totals[1].n, 0u);
  EXPECT_TRUE(ledger.recent().empty());
}

TEST(Ledger, keeps_what_it_was_told_to_and_numbers_runs_on) {
  Ledger ledger(1);
  const uint32_t plan = ledger.add_plan("decode", "text", kSteps);
  ledger.add_run(plan, 0, 50, 2, two_steps(0));  // not kept: not asked for yet
  ledger.keep(3);
  ledger.add_run(plan, 100, 150, 2, two_steps(100));
  ledger.reset_totals();
  ledger.add_untimed_run(plan, 200, 250, 2);
  ledger.add_run(plan, 300, 350, 2, two_steps(300));
  ASSERT_EQ(ledger.kept().size(), 3u);
  EXPECT_EQ(ledger.n_not_kept(), 1u);
  EXPECT_EQ(ledger.kept()[0].batch, 1u);
  EXPECT_EQ(ledger.kept()[2].batch, 3u);
  EXPECT_EQ(ledger.n_dispatches(), 4u) << "two of the untimed run, two of the timed one";
  EXPECT_EQ(ledger.plans()[plan].n_runs, 2u);
  EXPECT_EQ(ledger.plans()[plan].n_timed, 1u);
  EXPECT_EQ(ledger.plans()[plan].run_ns, 100u);
}

TEST(Ledger, file_says_what_the_ring_says) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("run.ledger");
  std::vector<Dispatch> recent;
  {
    Ledger ledger;
    ledger.add_plan("before", "", kSteps);
    ledger.open_file(path, R"({"commit":"x"})");
    const uint32_t plan = ledger.add_plan("after", "", kSteps);
    for (uint64_t run = 0; run < 4; ++run) ledger.add_run(plan, run, run + 1, 2, two_steps(run));
    recent = ledger.recent();
  }
  const LedgerFile file = read_ledger(path);
  EXPECT_EQ(file.head_json, R"({"commit":"x"})");
  ASSERT_EQ(file.plan_json.size(), 2u);
  const auto plan = nlohmann::json::parse(file.plan_json[1]);
  EXPECT_EQ(plan["plan"], 1);
  EXPECT_EQ(plan["steps"][0]["kernel"], kSteps[0].kernel);
  EXPECT_EQ(plan["steps"][0]["segment"], kSteps[0].segment);
  EXPECT_EQ(plan["steps"][0]["layer"], 3);
  ASSERT_EQ(file.dispatches.size(), recent.size());
  for (size_t i = 0; i < recent.size(); ++i) {
    EXPECT_EQ(file.dispatches[i].begin_ns, recent[i].begin_ns);
    EXPECT_EQ(file.dispatches[i].batch, recent[i].batch) << "dispatch " << i;
  }
}

TEST(Ledger, damaged_files) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("run.ledger");
  {
    Ledger ledger;
    ledger.open_file(path, "{}");
    ledger.add_run(ledger.add_plan("p", "", kSteps), 0, 1, 2, two_steps(0));
  }
  const std::vector<uint8_t> whole = test::read_file(path);
  const auto write = [&](const std::vector<uint8_t>& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  };
  EXPECT_THROW(read_ledger(folder.file("none")), Error);
  for (const size_t size : {size_t{0}, size_t{5}, whole.size() - 1, whole.size() - 100}) {
    write({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    EXPECT_THROW(read_ledger(path), Error) << size << " of " << whole.size() << " bytes";
  }
  for (size_t at = 0; at < whole.size(); ++at) {  // any damaged byte: an answer or an Error, never worse
    std::vector<uint8_t> bytes = whole;
    bytes[at] ^= 0x81;
    write(bytes);
    try {
      EXPECT_LE(read_ledger(path).dispatches.size(), 2u);
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace tally::ledger
