#include "lab/all.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "app/exit_status.h"
#include "app/memory.h"
#include "app/model_path.h"
#include "base/error.h"
#include "lab/agent.h"
#include "lab/energy.h"
#include "lab/engine_blocks.h"
#include "lab/fit.h"
#include "lab/machine.h"
#include "lab/menu.h"
#include "lab/stats.h"
#include "lab/sustain.h"
#include "lab/verdict.h"
#include "lab/verify.h"

namespace tally::lab {

namespace {

std::string model_path(const AllArgs& args) { return app::find_model(args.measure.engine.model); }

void part_verify(const AllArgs& args, Output& output) {
  const gguf::File file = gguf::File::open(model_path(args));
  const VerifyOptions options{.n_tokens = args.verify_tokens, .seed = args.measure.seed};
  if (!write_verified(verify(file, args.measure.engine.options, options), options, output))
    app::exit_status() = int(ErrorCode::Failed);
}

void part_sustain(const AllArgs& args, Output& output) {
  SustainArgs a{.measure = args.measure, .gen = args.gen, .rest_s = args.rest_s, .duration_s = args.duration_s};
  auto target = open_target(a.target, args.measure.target_options());
  run_sustain(a, *target, nullptr, output);
}

void part_fit(const AllArgs& args, Output& output) {
  FitArgs a{.measure = args.measure, .lengths = args.lengths, .rounds = args.rounds};
  auto target = open_target(a.target, args.measure.target_options());
  run_fit(a, *target, nullptr, output);
}

// Explain and slope share one engine.
void part_engine(const AllArgs& args, Output& output) {
  const SlopeOptions slope{
      .n_prompt = std::min(args.prompt, 64), .n_gen = std::min(args.gen, 16), .rounds = args.rounds};
  const int longest = *std::max_element(slope.lengths.begin(), slope.lengths.end());
  Probe probe(args.measure.engine, std::max({args.prompt, args.gen, longest}) + 1, 1, args.measure.seed);
  probe.max_spread = args.max_spread;
  run_explain(probe,
              {.n_prompt = args.prompt,
               .n_gen = args.gen,
               .rounds = args.rounds,
               .target_prompt = args.target_prompt,
               .target_decode = args.target_decode},
              output);
  run_slope(probe, slope, output);
}

Block energy_block(const MenuRow& row, const EnergyMeter& energy) {
  Block b{.name = "energy", .title = "Energy"};
  if (energy.sources().empty()) {
    b.not_valid = energy.why_not();
    return b;
  }
  if (!(row.joules > 0 && row.joule_tokens > 0)) {
    b.not_valid = "the counters did not move while tokens were generated";
    return b;
  }
  const double each = row.joules / row.joule_tokens;
  b.values = {{"j_per_token", each}, {"watts", row.watts}, {"sources", energy.sources()}};
  b.table = {{"", "J/token", "W"}, {{"generating", fmt::format("{:.3g}", each), fmt::format("{:.1f}", row.watts)}}};
  b.verdict = fmt::format("{:.3g} J for a generated token, at {:.1f} W", each, row.watts);
  return b;
}

void part_energy_and_task(const AllArgs& args, Output& output) {
  MenuArgs menu{.models = {args.measure.engine.model},
                .prompt = args.prompt,
                .gen = args.gen,
                .rounds = args.rounds,
                .turns = args.turns,
                .max_spread = args.max_spread,
                .timeout_s = args.measure.timeout_s,
                .n_threads = args.measure.engine.options.n_threads,
                .seed = args.measure.seed};
  EnergyMeter energy;
  const MenuRow row = measure_menu_row(menu, args.measure.engine.model, energy, output);
  output.block(energy_block(row, energy));
  Block task = menu_block(menu, {row}, "");
  task.name = "task", task.title = "Speed, memory and the time of a task";
  output.block(task);
}

void part_agent(const AllArgs& args, Output& output) {
  AgentArgs a;
  a.endpoint = args.endpoint;
  a.timeout_s = args.measure.timeout_s;
  run_agent(a, output);
}

struct Part {
  const char* name;
  const char* title;
  std::function<void()> run;
};

}  // namespace

void run_all(const AllArgs& args, Output& output) {
  const std::vector<Part> parts{
      {"fingerprint", "Machine and weights", [&] { output.block(fingerprint_block(args)); }},
      {"verify", "Correctness gate", [&] { part_verify(args, output); }},
      {"null", "Null run", [&] { run_null(args, output); }},
      {"sustain", "Cold and sustained speed", [&] { part_sustain(args, output); }},
      {"fit", "Fixed and per-token cost", [&] { part_fit(args, output); }},
      {"explain", "Where the time goes, and what a dispatch costs", [&] { part_engine(args, output); }},
      {"energy", "Energy and the time of a task", [&] { part_energy_and_task(args, output); }},
      {"agent", "Agent task on a server", [&] { part_agent(args, output); }},
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    if (part.name == std::string_view("agent") && args.endpoint.empty()) continue;
    if (isatty(2)) fmt::print(stderr, "{} of {}: {}\n", i + 1, parts.size() - args.endpoint.empty(), part.title);
    try {
      part.run();
    } catch (const Error& e) {
      if (e.code() == ErrorCode::Interrupted || e.code() == ErrorCode::Internal || i == 0) throw;
      output.block({.name = part.name, .title = part.title, .not_valid = e.what()});
    }
  }
}

}  // namespace tally::lab
