#include "lab/sustain.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "lab/energy.h"
#include "lab/stats.h"

namespace tally::lab {

namespace {

std::optional<double> clock_of(const MachineState& s) { return s.clock_mhz ? s.clock_mhz : s.reported_mhz; }

SustainRun load(const SustainArgs& args, const std::string& name, Target& target, EnergyMeter& energy, Output& output) {
  TestShape shape{.n_prompt = args.prompt, .n_gen = args.gen};
  SustainRun run;
  bool has_energy = !energy.sources().empty();
  target.measure({&shape, 1}, 0);  // warm: what is compared is heat, not the first touch
  energy.start();
  std::this_thread::sleep_for(std::chrono::duration<double>(args.rest_s));
  if (has_energy) run.idle_watts = energy.stop().watts();
  run.cold_clock_mhz = clock_of(look_at_machine());
  uint64_t begin = now_ns();
  for (int i = 0; i == 0 || double(now_ns() - begin) < args.duration_s * 1e9; ++i) {
    energy.start();
    Measurement m = target.measure({&shape, 1}, 1).at(0).at(0);
    EnergyMeter::Reading reading = energy.stop();
    MachineState state = look_at_machine();
    SustainRun::Point p{
        .s = double(now_ns() - begin) / 1e9, .rate = m.rate(), .clock_mhz = clock_of(state), .temp_c = state.temp_c};
    if (has_energy) p.watts = reading.watts();
    run.joules += reading.joules, run.seconds += m.ms / 1e3, run.tokens += m.tokens;
    Json sample = sample_json(shape, m, {.variant = name, .phase = i == 0 ? "cold" : "sustained", .round = i});
    sample["s"] = p.s, sample["clock_mhz"] = or_null(p.clock_mhz), sample["temp_c"] = or_null(p.temp_c);
    sample["power_w"] = or_null(p.watts);
    output.sample(sample);
    run.points.push_back(p);
    if (isatty(2)) fmt::print(stderr, "\r{:.0f} of {:.0f} s", p.s, args.duration_s);
  }
  if (isatty(2)) fmt::print(stderr, "\n");
  return run;
}

struct Rates {
  double cold = 0, steady = 0;
  std::optional<double> clock;  // median of the last third
};

Rates rates(const SustainRun& run) {
  std::vector<double> last, clocks;
  for (size_t i = run.points.size() - run.points.size() / 3; i < run.points.size(); ++i) {
    last.push_back(run.points[i].rate);
    if (run.points[i].clock_mhz) clocks.push_back(*run.points[i].clock_mhz);
  }
  Rates r{.cold = run.points[0].rate, .steady = stats::summarize(last).median};
  if (clocks.size() == last.size()) r.clock = stats::summarize(clocks).median;
  return r;
}

}  // namespace

Block sustain_block(const std::string& name, const SustainRun& run, const std::string& why_no_energy) {
  Block b{.name = "sustain", .title = "Cold and sustained speed of " + name};
  b.values = {{"target", name}, {"n", run.points.size()}};
  if (run.points.size() < 6) {
    b.not_valid = fmt::format(
        "{} measurements in the given time, expected 6 or more; a longer --duration or a shorter test helps",
        run.points.size());
    return b;
  }
  Rates r = rates(run);
  b.table.columns = {"", "tok/s", "clock MHz"};
  auto mhz = [](const std::optional<double>& x) { return x ? fmt::format("{:.0f}", *x) : std::string("–"); };
  b.table.rows = {{"cold (first after the rest)", rate_text(r.cold, false), mhz(run.cold_clock_mhz)},
                  {"sustained (last third)", rate_text(r.steady, false), mhz(r.clock)}};
  b.values["cold"] = r.cold, b.values["sustained"] = r.steady, b.values["ratio"] = r.steady / r.cold;
  b.values["clock_mhz"] = Json::array(
      {or_null(run.cold_clock_mhz), or_null(run.points[run.points.size() / 2].clock_mhz), or_null(r.clock)});
  if (run.cold_clock_mhz && r.clock) {
    def::Sustained s = def::sustained(r.cold, r.steady, *run.cold_clock_mhz, *r.clock);
    b.values["predicted"] = s.predicted, b.values["residual"] = s.residual, b.values["thermal"] = s.thermal;
    b.verdict = s.words;
  } else {
    b.verdict = fmt::format("sustained/cold = {:.3f}; the clock is not known, so nothing can be said of its part",
                            r.steady / r.cold);
  }
  std::vector<double> all;
  for (const auto& p : run.points) all.push_back(p.rate);
  b.notes.push_back(stats::steady(std::vector<double>(all.begin() + long(all.size() / 2), all.end())).words +
                    " (second half)");
  b.notes.push_back("\"cold\" is one measurement: repeat the command to see how far it moves");
  if (run.joules > 0) {
    b.values["j_per_token"] = run.joules / run.tokens, b.values["watts"] = run.joules / run.seconds;
    b.values["idle_watts"] = run.idle_watts;
    b.values["j_per_token_net"] = (run.joules - run.idle_watts * run.seconds) / run.tokens;
    b.notes.push_back(fmt::format("{:.3g} J/token at {:.1f} W ({:.3g} J/token net of {:.1f} W idle)",
                                  run.joules / run.tokens, run.joules / run.seconds,
                                  (run.joules - run.idle_watts * run.seconds) / run.tokens, run.idle_watts));
  } else {
    b.values["j_per_token"] = nullptr;
    b.notes.push_back("no energy: " + why_no_energy);
  }
  return b;
}

void run_sustain(const SustainArgs& args, Target& target, Target* against, Output& output) {
  EnergyMeter energy;
  MachineTrack machine;
  SustainRun own = load(args, target.label(), target, energy, output);
  machine.middle();
  output.block(sustain_block(target.label(), own, energy.why_not()));
  if (against) {
    std::vector<std::string> notes;
    std::string name = against->label() == target.label() ? against->label() + " (other)" : against->label();
    require_same_weights({{target.label(), &target}, {name, against}}, &notes);
    SustainRun other = load(args, name, *against, energy, output);
    output.block(sustain_block(name, other, energy.why_not()));
    Block b{.name = "sustain_against", .title = "Cold with cold, sustained with sustained", .notes = notes};
    if (own.points.size() < 6 || other.points.size() < 6) {
      b.not_valid = "one of the two has too few measurements";
    } else {
      Rates a = rates(own), o = rates(other);
      def::ColdAndSustained c = def::compare_sustained(a.cold, a.steady, o.cold, o.steady);
      b.values = {{"cold", c.cold}, {"sustained", c.steady}, {"relative_ratio", c.relative_ratio}};
      b.verdict = c.words;
    }
    output.block(b);
  }
  machine.end();
  output.block(machine_block(machine));
}

}  // namespace tally::lab
