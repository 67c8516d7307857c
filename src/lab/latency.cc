#include "lab/latency.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <numeric>

#include "app/chat_prompt.h"
#include "app/model_path.h"
#include "app/tokenizer_from_gguf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"
#include "lab/child.h"
#include "lab/def_agent.h"
#include "lab/stats.h"
#include "ops/sample.h"

namespace tally::lab {

namespace {

constexpr const char* kText =
    "A river that leaves the hills carries more than water. It takes sand and leaves, and the names of the villages on "
    "its banks, down to the plain, where it slows and lays them aside. Who walks against the stream finds every bend "
    "made twice, once by the rock and once by the flood of some spring long ago.\n";

struct Row {
  std::string name;
  std::vector<double> ns;  // [rounds], per unit
  std::string why_not;     // when it cannot be measured
};

std::vector<double> repeat(int rounds, double units, const std::function<void()>& body) {
  body();
  std::vector<double> out;
  for (int i = 0; i < rounds; ++i) {
    uint64_t begin = now_ns();
    body();
    out.push_back(double(now_ns() - begin) / units);
  }
  return out;
}

void machine_rows(int rounds, size_t chase_bytes, std::vector<Row>& rows) {
  constexpr int kLoop = 20'000'000, kLocks = 2'000'000, kReads = 500'000;
  rows.push_back({"loop iteration",
                  repeat(rounds, kLoop,
                         [] {
                           for (int i = 0; i < kLoop; ++i) __asm__ volatile("" ::: "memory");
                         }),
                  ""});
  std::mutex mutex;
  rows.push_back({"lock and unlock",
                  repeat(rounds, kLocks,
                         [&] {
                           for (int i = 0; i < kLocks; ++i) {
                             std::lock_guard<std::mutex> guard(mutex);
                             __asm__ volatile("" ::: "memory");
                           }
                         }),
                  ""});
  // One cycle through the memory in random order (Sattolo): each read waits for the one before.
  std::vector<uint32_t> next(std::max<size_t>(chase_bytes / sizeof(uint32_t), 2));
  std::iota(next.begin(), next.end(), 0u);
  for (size_t i = next.size() - 1; i > 0; --i) std::swap(next[i], next[random_u64(5, i) % i]);
  volatile uint32_t at = 0;
  rows.push_back({"memory read",
                  repeat(rounds, kReads,
                         [&] {
                           uint32_t p = at;
                           for (int i = 0; i < kReads; ++i) p = next[p];
                           at = p;
                         }),
                  ""});
  rows.push_back({"process start", {}, ""});
  for (int i = 0; i < rounds; ++i) rows.back().ns.push_back(run_child_ok({"true"}).wall_ms * 1e6);
}

// From the file to the first token, with the file's pages given back to the system before.
Row cold_load(const app::EngineArgs& args, int rounds) {
  Row row{"cold load, first token", {}, ""};
  std::string path = app::find_model(args.model);
  for (int i = 0; i < std::min(rounds, 5); ++i) {
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
      row.why_not = "the file's pages cannot be given back";
    if (fd >= 0) close(fd);
    uint64_t begin = now_ns();
    Probe probe(args, 64);
    probe.run_ms({.n_gen = 1});
    row.ns.push_back(double(now_ns() - begin));
  }
  return row;
}

// A short message through template, tokenizer, prompt, one token, and back to text.
void text_rows(Probe& probe, int rounds, std::vector<Row>& rows) {
  const gguf::Metadata& meta = probe.file().metadata();
  if (!app::has_tokenizer(meta)) {
    rows.push_back({"tokenizer, 1 kB", {}, "the model has no tokenizer"});
    rows.push_back({"warm round trip", {}, "the model has no tokenizer"});
    return;
  }
  text::Tokenizer tokenizer = app::tokenizer_from_gguf(meta);
  std::string text;
  while (text.size() < 32768) text += kText + std::to_string(text.size() * 7919) + ". ";
  rows.push_back({"tokenizer, 1 kB",
                  repeat(rounds, double(text.size()) / 1000,
                         [&] {
                           if (tokenizer.encode(text, false, false).empty())
                             fail(ErrorCode::Internal, "no tokens from {} bytes", text.size());
                         }),
                  ""});
  app::ChatModel chat(meta, tokenizer);
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  messages.push_back({{"role", "user"}, {"content", "Say yes."}});
  auto trip = [&] {
    std::vector<int32_t> ids = chat.encode({.messages = messages});
    runtime::Sequence s = probe.engine().open();
    int last = int(ids.size()) - 1;
    int32_t token = 0;
    probe.engine().consume(s, ids, {&last, 1}, [&](int, std::span<const float> row) { token = ops::argmax(row); });
    if (token < tokenizer.vocab_size()) tokenizer.decode({&token, 1}, true);
    probe.engine().close(s);
  };
  try {
    rows.push_back({"warm round trip", repeat(rounds, 1, trip), ""});
  } catch (const Error& e) {
    rows.push_back({"warm round trip", {}, e.what()});
  }
}

const Row* find(const std::vector<Row>& rows, const std::string& name) {
  for (const Row& r : rows)
    if (r.name == name && r.why_not.empty()) return &r;
  return nullptr;
}

double mean_ns(const Row& r) { return stats::quantile(r.ns, 0.5); }

Block table_block(const std::vector<Row>& rows, double max_spread, Output& out) {
  Block b{.name = "table", .title = "What things cost here"};
  b.table.columns = {"one", "ns", "5 % to 95 %", "decoded tokens", "round trips"};
  b.values = {{"costs", Json::array()}, {"ratios", Json()}};
  const Row *token = find(rows, "decoded token"), *trip = find(rows, "warm round trip");
  std::vector<def::UnitCost> costs;
  for (const Row& r : rows) {
    for (size_t i = 0; i < r.ns.size(); ++i)
      out.sample(
          {{"test", r.name}, {"variant", "this machine"}, {"round", int(i)}, {"value", r.ns[i]}, {"unit", "ns"}});
    if (!r.why_not.empty()) {
      b.table.rows.push_back({r.name, "not valid", r.why_not, "", ""});
      b.values["costs"].push_back({{"name", r.name}, {"ns", nullptr}, {"reason", r.why_not}});
      continue;
    }
    double ns = mean_ns(r), low = stats::quantile(r.ns, 0.05), high = stats::quantile(r.ns, 0.95);
    costs.push_back({r.name, ns});
    b.table.rows.push_back({r.name, fmt::format("{:.4g}", ns), fmt::format("{:.4g} to {:.4g}", low, high),
                            token ? fmt::format("{:.3g}", ns / mean_ns(*token)) : "",
                            trip ? fmt::format("{:.3g}", ns / mean_ns(*trip)) : ""});
    b.values["costs"].push_back({{"name", r.name}, {"ns", ns}, {"low", low}, {"high", high}, {"n", r.ns.size()}});
    if (high > max_spread * low)
      b.notes.push_back(fmt::format("{}: its rounds spread by a factor of {:.2f}", r.name, high / low));
  }
  b.values["ratios"] = {{"names", Json::array()}, {"rows", def::cost_ratios(costs)}};
  for (const def::UnitCost& c : costs) b.values["ratios"]["names"].push_back(c.name);
  b.notes.push_back("medians; values.ratios in the JSON holds every cost over every other");
  return b;
}

Block savings_block(const std::vector<Row>& rows) {
  Block b{.name = "table.savings", .title = "What saves less than one call"};
  const Row* trip = find(rows, "warm round trip");
  if (!trip) {
    b.not_valid = "no warm round trip was measured, so there is no call to compare with";
    return b;
  }
  double call_ms = mean_ns(*trip) * 1e-6;
  b.table.columns = {"saving", "calls", "verdict"};
  b.values = {{"call_ms", call_ms}, {"savings", Json::array()}};
  struct Saving {
    const char* row;
    double count;
  };
  for (const Saving& s : {Saving{"loop iteration", 1e6}, Saving{"lock and unlock", 1e5}, Saving{"memory read", 1e5},
                          Saving{"process start", 1}, Saving{"tokenizer, 1 kB", 100}, Saving{"prompt token", 100},
                          Saving{"prompt token", 5000}, Saving{"decoded token", 10}}) {
    const Row* r = find(rows, s.row);
    if (!r) continue;
    std::string what = fmt::format("{:.0f} × {}", s.count, s.row);
    def::LessThanOneCall v = def::less_than_one_call(what, s.count, mean_ns(*r) * 1e-6, call_ms);
    b.table.rows.push_back(
        {what, fmt::format("{:.4g}", v.calls), v.less ? "less than one call" : "more than one call"});
    b.values["savings"].push_back({{"what", what},
                                   {"count", s.count},
                                   {"unit_ms", mean_ns(*r) * 1e-6},
                                   {"calls", v.calls},
                                   {"less", v.less},
                                   {"threshold_unit_ms", v.threshold_unit_ms},
                                   {"words", v.words}});
  }
  b.notes.push_back(
      fmt::format("a call is a warm round trip of {:.3g} ms: a short message in, one token out", call_ms));
  return b;
}

}  // namespace

void run_table(const app::EngineArgs& args, const TableOptions& o, Output& out) {
  std::vector<Row> rows;
  machine_rows(o.rounds, o.chase_bytes, rows);
  Row cold = cold_load(args, o.rounds);
  Probe probe(args, std::max({o.n_prompt, o.n_gen, 256}) + 1, 1, o.seed);
  auto per_token = [&](const char* name, const Work& work) {
    Row row{name, {}, ""};
    probe.run_ms(work);
    for (int i = 0; i < o.rounds; ++i) row.ns.push_back(probe.run_ms(work) * 1e6 / work.n_tokens());
    rows.push_back(row);
  };
  per_token("prompt token", {.n_prompt = o.n_prompt});
  per_token("decoded token", {.n_gen = o.n_gen});
  text_rows(probe, o.rounds, rows);
  rows.push_back(cold);
  out.block(table_block(rows, o.max_spread, out));
  out.block(savings_block(rows));
}

}  // namespace tally::lab
