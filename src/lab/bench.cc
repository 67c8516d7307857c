#include "lab/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/limits.h"
#include "base/thread_team.h"
#include "lab/def_roofline.h"
#include "lab/energy.h"
#include "lab/stats.h"

namespace tally::lab {

namespace {

struct Row {
  TestShape shape;
  std::vector<Measurement> list;
  double joules = 0, joule_tokens = 0;
};

// Mean power of the first, the middle and the last third of the measurements; null where nothing counts it.
Json power_json(const std::vector<double>& watts) {
  if (watts.empty()) return nullptr;
  size_t n = watts.size();
  Json j = Json::array();
  for (size_t third = 0; third < 3; ++third) {
    size_t begin = std::min(third * n / 3, n - 1), end = std::max((third + 1) * n / 3, begin + 1);
    j.push_back(stats::summarize({watts.data() + begin, end - begin}).mean);
  }
  return j;
}

void write(const Row& row, const Measurement& m, const BenchArgs& args, int round, int position, Output& output) {
  output.sample(sample_json(row.shape, m, {.variant = args.target, .round = round, .position = position}));
}

// One start of another program measures all rounds of all shapes; in process, the shapes alternate.
void measure(const BenchArgs& args, Target& target, std::vector<Row>& rows, EnergyMeter* energy, MachineTrack& machine,
             std::vector<double>& watts, Output& output) {
  std::vector<TestShape> shapes;
  for (const Row& row : rows) shapes.push_back(row.shape);
  target.measure(shapes, 0);
  machine = MachineTrack();
  if (target.starts_process()) {
    auto got = target.measure(shapes, args.rounds);
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].list = got[i];
      for (size_t r = 0; r < got[i].size(); ++r) write(rows[i], got[i][r], args, int(r), int(i), output);
    }
    return;
  }
  for (int round = 0; round < args.rounds; ++round) {
    if (round == args.rounds / 2) machine.middle();
    std::vector<int> order = permutation(int(rows.size()), round);
    for (size_t at = 0; at < order.size(); ++at) {
      Row& row = rows[order[at]];
      if (energy) energy->start();
      Measurement m = target.measure({&row.shape, 1}, 1).at(0).at(0);
      if (energy) {
        EnergyMeter::Reading reading = energy->stop();
        row.joules += reading.joules, row.joule_tokens += m.tokens;
        watts.push_back(reading.watts());
      }
      row.list.push_back(m);
      write(row, m, args, round, int(at), output);
    }
  }
}

// Bytes and operations against what the machine can do.
void add_floor(Json& values, std::vector<std::string>& cells, const Target::Floor& floor, double ms, double peak_gb_s) {
  if (floor.bytes <= 0) {
    values["bytes_read"] = nullptr, values["share_of_limit"] = nullptr;
    cells.insert(cells.end(), {"–", "–"});
    return;
  }
  double gb_s = def::gb_s(floor.bytes, ms);
  values["bytes_read"] = floor.bytes, values["flop"] = floor.flops;
  values["gb_s"] = gb_s, values["tflop_s"] = def::tflop_s(floor.flops / 1e9, ms);
  values["share_of_limit"] = peak_gb_s > 0 ? Json(gb_s / peak_gb_s) : Json(nullptr);
  values["limit"] = peak_gb_s > 0 ? Json("read bandwidth") : Json(nullptr);
  cells.push_back(fmt::format("{:.2f}", gb_s));
  cells.push_back(peak_gb_s > 0 ? fmt::format("{:.1f} %", gb_s / peak_gb_s * 100) : "–");
}

Json row_values(const Row& row, const stats::Summary& s, const Measurement* first, Target& target) {
  Json v{{"test", row.shape.name()},
         {"unit", "tok/s"},
         {"mean", s.mean},
         {"sd", s.sd},
         {"cv", s.cv},
         {"n", s.n},
         {"median", s.median},
         {"min", s.min},
         {"max", s.max},
         {"lower_bound", any_lower_bound(row.list)}};
  v["samples_ms"] = times_of(row.list);
  v["samples"] = rates_of(row.list);
  v["first_run"] = first ? Json(first->rate()) : Json(nullptr);
  v["outliers"] = stats::outlier_words(rates_of(row.list));
  std::string output_hash = target.output_sha256(row.shape);
  v["output_sha256"] = output_hash.empty() ? Json(nullptr) : Json(output_hash);
  if (!row.list.empty() && row.list[0].fields.contains("dispatches"))
    v["dispatches"] = row.list[0].fields["dispatches"];
  return v;
}

Block bench_block(const BenchArgs& args, Target& target, const std::vector<Row>& rows, double peak_gb_s,
                  const EnergyMeter* energy) {
  Block b{.name = "bench", .title = "Speed of " + target.label()};
  b.table.columns = {"test", "tok/s", "±", "cv", "n", "first run", "steady", "GB/s", "of read bandwidth", "J/token"};
  Json tests = Json::array();
  for (const Row& row : rows) {
    std::vector<double> rates = rates_of(row.list);
    stats::Summary s = stats::summarize(rates);
    stats::Steady steady = stats::steady(rates);
    const Measurement* first = target.first(row.shape);
    Json v = row_values(row, s, first, target);
    v["steady"] = steady.known ? Json(steady.steady) : Json(nullptr);
    bool not_steady = steady.known && !steady.steady;
    bool bound = any_lower_bound(row.list);
    std::vector<std::string> cells{row.shape.name(),
                                   not_steady ? "not steady" : rate_text(s.mean, bound),
                                   rate_text(s.sd, false),
                                   fmt::format("{:.1f} %", s.cv * 100),
                                   std::to_string(s.n),
                                   first ? rate_text(first->rate(), false) : "–",
                                   steady.known ? (steady.steady ? "yes" : "no") : "n < 6"};
    add_floor(v, cells, target.floor(row.shape), stats::summarize(times_of(row.list)).mean, peak_gb_s);
    bool has_energy = row.joules > 0 && row.joule_tokens > 0;
    v["j_per_token"] = has_energy ? Json(row.joules / row.joule_tokens) : Json(nullptr);
    cells.push_back(has_energy ? fmt::format("{:.3g}", row.joules / row.joule_tokens) : "–");
    if (not_steady) b.notes.push_back(row.shape.name() + ": " + steady.words);
    if (std::string o = stats::outlier_words(rates); !o.empty()) b.notes.push_back(row.shape.name() + ": " + o);
    tests.push_back(std::move(v));
    b.table.rows.push_back(std::move(cells));
  }
  b.values = {{"target", target.label()}, {"provenance", target.provenance()}, {"tests", tests}};
  b.values["limit_gb_s"] = peak_gb_s > 0 ? Json(peak_gb_s) : Json(nullptr);
  b.values["energy_sources"] = energy ? Json(energy->sources()) : Json(nullptr);
  if (energy && energy->sources().empty()) b.notes.push_back("no J/token: " + energy->why_not());
  if (target.starts_process()) b.notes.push_back("each start of the program measured its tests one after another");
  if (args.rounds < 6) b.notes.push_back("steadiness is tested from six rounds on (-r 6)");
  return b;
}

}  // namespace

void run_bench(const BenchArgs& args, Target& target, Output& output) {
  std::vector<Row> rows;
  for (const TestShape& s : args.shapes.shapes()) rows.push_back({s, {}, 0, 0});
  std::optional<EnergyMeter> energy;
  double peak_gb_s = 0;
  if (!args.no_machine) {
    energy.emplace();
    int threads = args.measure.engine.options.n_threads;
    if (args.measure.engine.options.device == "cpu" || args.measure.engine.options.device == "reference")
      peak_gb_s = app::read_bandwidth(threads > 0 ? threads : available_cores()) / 1e9;
  }
  MachineTrack machine;
  std::vector<double> watts;
  measure(args, target, rows, energy && !energy->sources().empty() ? &*energy : nullptr, machine, watts, output);
  machine.end();
  for (size_t i = 0; i < rows.size(); ++i)
    if (const Measurement* first = target.first(rows[i].shape))
      output.sample(sample_json(rows[i].shape, *first, {.variant = args.target, .phase = "cold", .position = int(i)}));
  Block block = bench_block(args, target, rows, peak_gb_s, energy ? &*energy : nullptr);
  block.values["power_w"] = power_json(watts);
  output.block(block);
  output.block(machine_block(machine));
}

}  // namespace tally::lab
