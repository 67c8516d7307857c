#include "lab/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>

#include "app/limits.h"
#include "backend/cpu/kernels/isa.h"
#include "base/clock.h"
#include "base/thread_team.h"

namespace tally::lab {

namespace {

class Step {
 public:
  virtual ~Step() = default;
  virtual void run(int worker) noexcept = 0;
};
class Inert : public Step {
 public:
  void run(int) noexcept override {}
};

constexpr int kDispatches = 2000, kRepeats = 15;

// Best of some repeats, in ns per item.
double best_ns(int n_items, const std::function<void()>& body) {
  body();
  double best = 1e30;
  for (int i = 0; i < kRepeats; ++i) {
    uint64_t begin = now_ns();
    body();
    best = std::min(best, double(now_ns() - begin) / n_items);
  }
  return best;
}

std::string bytes_text(size_t n) {
  return n >= (1u << 20) ? fmt::format("{} MiB", n >> 20) : fmt::format("{} KiB", n >> 10);
}

std::set<int> thread_counts(int most) {
  std::set<int> out{1, most};
  for (int n = 2; n < most; n *= 2) out.insert(n);
  return out;
}

Block bandwidth_block(int n_threads, size_t largest, Output& out) {
  Block b{.name = "limits.bandwidth", .title = "Memory bandwidth by working set and threads"};
  b.table.columns = {"working set", "threads", "read GB/s", "copy GB/s"};
  b.values["points"] = Json::array();
  for (int n : thread_counts(n_threads)) {
    ThreadTeam team(n);
    for (size_t bytes = 32 << 10; bytes <= largest; bytes *= 4) {
      double read = app::measure_read(team, bytes), copy = app::measure_copy(team, bytes);
      for (const auto& [name, rate] : {std::pair{"read", read}, std::pair{"copy", copy}})
        out.sample({{"test", fmt::format("{} {}", name, bytes_text(bytes))},
                    {"variant", fmt::format("{} threads", n)},
                    {"value", rate * 1e-9},
                    {"unit", "GB/s"}});
      b.table.rows.push_back({bytes_text(bytes), fmt::format("{}", n), fmt::format("{:.1f}", read * 1e-9),
                              fmt::format("{:.1f}", copy * 1e-9)});
      b.values["points"].push_back(
          {{"bytes", bytes}, {"threads", n}, {"read_gb_s", read * 1e-9}, {"copy_gb_s", copy * 1e-9}});
    }
  }
  b.notes.push_back("the best of five rounds; a copy counts the bytes read and those written");
  b.notes.push_back("the working set is that of all threads together, each with its own part");
  return b;
}

Block multiply_block(int n_threads, bool store) {
  Block b{.name = "limits.multiply", .title = "Multiply-adds on registers"};
  b.table.columns = {"instruction set", "threads", "float32 TFLOP/s", "8-bit TOP/s"};
  b.values["points"] = Json::array();
  for (cpu::Isa isa : {cpu::Isa::Generic, cpu::Isa::Avx2, cpu::Isa::Avx512}) {
    if (isa > cpu::best_isa()) continue;
    std::string name = cpu::isa_name(isa);
    for (int n : std::set<int>{1, n_threads}) {
      double f32 = 0, int8 = 0;
      if (store) {
        f32 = app::multiply_rate(n, app::Multiply::F32, name, true);
        int8 = app::multiply_rate(n, app::Multiply::Int8, name, true);
      } else {
        ThreadTeam team(n);
        f32 = app::measure_multiply(team, app::Multiply::F32, name);
        int8 = app::measure_multiply(team, app::Multiply::Int8, name);
      }
      b.table.rows.push_back(
          {name, fmt::format("{}", n), fmt::format("{:.3f}", f32 * 1e-12), fmt::format("{:.3f}", int8 * 1e-12)});
      b.values["points"].push_back(
          {{"isa", name}, {"threads", n}, {"f32_tflop_s", f32 * 1e-12}, {"int8_top_s", int8 * 1e-12}});
    }
  }
  b.notes.push_back("a multiply-add counts as two operations; 8-bit products are summed in 32 bits");
  return b;
}

Block dispatch_block(int n_threads, bool store) {
  Block b{.name = "limits.dispatch", .title = "Cost of a dispatch and of a barrier"};
  b.table.columns = {"threads", "dispatch ns", "barrier ns", "start of a run ns"};
  b.values["points"] = Json::array();
  for (int n : thread_counts(n_threads)) {
    DispatchCosts c = measure_dispatch(n);
    if (store) app::dispatch_ns(n, true, [&] { return c.dispatch_ns; });
    b.table.rows.push_back({fmt::format("{}", n), fmt::format("{:.0f}", c.dispatch_ns),
                            fmt::format("{:.0f}", c.barrier_ns), fmt::format("{:.0f}", c.team_run_ns)});
    b.values["points"].push_back(
        {{"threads", n}, {"dispatch_ns", c.dispatch_ns}, {"barrier_ns", c.barrier_ns}, {"team_run_ns", c.team_run_ns}});
  }
  b.values["graph_ns"] = nullptr, b.values["pdl_ns"] = nullptr;
  b.notes.push_back("graph and PDL launches: not valid here: the processor has neither, a plan is one run of the team");
  b.notes.push_back(
      "an inert dispatch: the call, the barrier of the team, one clock read; `tally lab slope` measures the "
      "same within a model");
  return b;
}

}  // namespace

DispatchCosts measure_dispatch(int n_threads) {
  ThreadTeam team(n_threads);
  std::vector<std::unique_ptr<Step>> steps;
  for (int i = 0; i < 64; ++i) steps.push_back(std::make_unique<Inert>());
  std::vector<uint64_t> times(kDispatches);
  DispatchCosts c;
  c.dispatch_ns = best_ns(kDispatches, [&] {
    team.run([&](int w) {
      for (int i = 0; i < kDispatches; ++i) {
        steps[size_t(i) % steps.size()]->run(w);
        team.barrier();
        if (w == 0) times[i] = now_ns();
      }
    });
  });
  c.barrier_ns = best_ns(kDispatches, [&] {
    team.run([&](int) {
      for (int i = 0; i < kDispatches; ++i) team.barrier();
    });
  });
  c.team_run_ns = best_ns(kDispatches, [&] {
    for (int i = 0; i < kDispatches; ++i) team.run([](int) {});
  });
  return c;
}

void run_limits(const LimitsOptions& o, Output& out) {
  int n = o.n_threads > 0 ? o.n_threads : available_cores();
  if (o.store)
    for (int threads : std::set<int>{1, n}) app::read_bandwidth(threads, true);
  out.block(bandwidth_block(n, o.largest_set, out));
  out.block(multiply_block(n, o.store));
  out.block(dispatch_block(n, o.store));
}

}  // namespace tally::lab
