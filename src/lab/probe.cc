#include "lab/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/model_path.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"
#include "lab/machine.h"
#include "lab/stats.h"
#include "lab/stats_distributions.h"
#include "ops/sample.h"

namespace tally::lab {

void EngineCommand::add_to(CLI::App& command) {
  engine.quiet = true;
  engine.add_to(command);
  command.add_option("--rounds", rounds, "alternated rounds of each measurement")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  command.add_option("--max-spread", max_spread, "largest spread of the rounds (5 % to 95 %) that still gives numbers")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  command.add_option("--seed", seed, "of the random token ids")->capture_default_str();
  command.add_option("--json", json, "JSON Lines to this file, or one document on standard output")->expected(0, 1);
}

void EngineCommand::add_parts(CLI::App& command, int& n_prompt, int& n_gen, int& depth) {
  auto number = [&](const char* name, int& n, const char* help) {
    command.add_option(name, n, help)->check(CLI::Range(0, 1 << 20))->capture_default_str();
  };
  number("-p,--n-prompt", n_prompt, "tokens of the prompt part; 0 leaves it out");
  number("-n,--n-gen", n_gen, "tokens of the decode part; 0 leaves it out");
  number("-d,--depth", depth, "tokens before the first decoded one");
}

Json EngineCommand::head() const {
  std::filesystem::path path = app::find_model(engine.model);
  const runtime::EngineOptions& o = engine.options;
  return {{"model", path.filename().string()},
          {"weights_sha256", weights_sha256(path)},
          {"machine", fingerprint()},
          {"seed", seed},
          {"rounds", rounds},
          {"max_spread", max_spread},
          {"engine",
           {{"device", o.device},
            {"threads", o.n_threads},
            {"isa", o.isa},
            {"chunk", o.chunk},
            {"exact", o.exact},
            {"kernels", o.forced_kernels}}}};
}

std::string Work::name() const {
  std::string out = n_prompt > 0 ? fmt::format("pp{}", n_prompt) : fmt::format("tg{}", n_gen);
  return depth > 0 ? out + fmt::format("@d{}", depth) : out;
}

Probe::Probe(const app::EngineArgs& args, int context, int n_sequences, uint64_t seed) : seed_(seed) {
  app::EngineArgs a = args;
  a.options.n_sequences = n_sequences;
  if (a.options.context_length == 0) a.options.context_length = context;
  if (a.options.context_length < context)
    fail(ErrorCode::Usage, "--ctx {} is too small: this measurement needs {} tokens", a.options.context_length,
         context);
  open_ = app::open_model(a);
}

std::vector<int32_t> Probe::random_ids(int n, uint64_t salt) const {
  std::vector<int32_t> ids(n);
  for (int i = 0; i < n; ++i)
    ids[i] = int32_t(random_u64(seed_ ^ (salt << 32), uint64_t(i)) % uint64_t(open_->engine->vocab_size()));
  return ids;
}

runtime::Sequence Probe::at_depth(int depth) {
  if (depth == 0) return engine().open();
  auto found = snapshots_.find(depth);
  if (found != snapshots_.end()) return engine().restore(found->second);
  runtime::Sequence s = engine().open();
  engine().consume(s, random_ids(depth, 1), {}, nullptr);
  snapshots_[depth] = engine().save(s);
  return s;
}

double Probe::run_ms(const Work& work) {
  bool timed = ledger().timed();
  ledger().set_timed(false);  // the way there is not the ledger's business
  backend::Instruments instruments = engine().options().instruments;
  engine().instrument({});
  runtime::Sequence s = at_depth(work.depth);
  engine().instrument(instruments);
  ledger().set_timed(timed);
  std::vector<int32_t> ids = random_ids(std::max(work.n_prompt, 1), 2);
  const ops::SamplingSettings greedy{.temperature = 0};
  uint64_t begin = now_ns();
  if (work.n_prompt > 0) {
    int last = work.n_prompt - 1;
    int32_t token = 0;
    engine().consume(s, ids, {&last, 1}, [&](int, std::span<const float> row) { token = ops::argmax(row); });
    if (token < 0) fail(ErrorCode::Internal, "no token after the prompt");
  } else {
    std::vector<int32_t> history = s.tokens;
    int32_t token = ids[0];
    for (int i = 0; i < work.n_gen; ++i) {
      std::span<const float> row = engine().decode(s, token);
      history.push_back(token);
      token = ops::sample(row, history, greedy, history.size(), {});
    }
  }
  double ms = double(now_ns() - begin) * 1e-6;
  engine().close(s);
  return ms;
}

uint64_t Probe::count_dispatches(const Work& work) {
  run_ms(work);  // plans are made, the snapshot is taken
  uint64_t before = engine().n_dispatches();
  run_ms(work);
  return engine().n_dispatches() - before;
}

double Probe::bytes_of(const Work& work) {
  ledger().set_timed(true);
  run_ms(work);
  drop_totals();
  run_ms(work);
  double bytes = 0;
  for (const ledger::PlanRecord& plan : ledger().plans())
    for (const ledger::StepTotal& t : plan.totals) bytes += double(t.bytes);
  drop_totals();
  return bytes;
}

std::vector<std::vector<double>> alternate(const std::vector<std::string>& variants, int rounds,
                                           const std::function<double(int)>& run, const std::string& test, Output& out,
                                           int warm) {
  int n = int(variants.size());
  std::vector<std::vector<double>> ms(n);
  for (int v = 0; v < n; ++v)
    for (int i = 0; i < warm; ++i) run(v);
  for (int round = 0; round < rounds; ++round)
    for (int at = 0; at < n; ++at) {
      int v = ((round % 2 == 0 ? at : n - 1 - at) + round / 2) % n;
      ms[v].push_back(run(v));
      out.sample({{"test", test},
                  {"variant", variants[v]},
                  {"round", round},
                  {"position_in_round", at},
                  {"value", ms[v].back()},
                  {"unit", "ms"}});
    }
  return ms;
}

MeanInterval mean_interval(const std::vector<double>& x) {
  stats::Summary s = stats::summarize(x);
  double half = s.n > 1 ? stats::t_quantile(0.975, s.n - 1) * s.sd / std::sqrt(s.n) : INFINITY;
  return {s.mean, s.mean - half, s.mean + half, s.sd, s.n};
}

std::string Probe::not_usable(const std::vector<double>& ms) const {
  double high = stats::quantile(ms, 0.95), low = stats::quantile(ms, 0.05);
  if (high > max_spread * low)
    return fmt::format("the rounds spread by a factor of {:.2f} (5 % to 95 %; at most {:g}): something else ran here",
                       high / low, max_spread);
  if (ms.size() < 6) return "";  // too few to tell a drift; the interval says how little is known
  stats::Steady steady = stats::steady(ms, std::max(0.02, max_spread - 1.25));
  return steady.known && !steady.steady ? steady.words : "";
}

}  // namespace tally::lab
