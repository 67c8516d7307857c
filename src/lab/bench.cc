#include "lab/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

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

// What the machine can do at most; zeros when it was not measured.
struct Peaks {
  double gb_s = 0, tflop_s = 0;
  std::string multiply;  // which multiplications the second counts
};

Peaks peaks_of(const runtime::EngineOptions& options) {
  if (options.device != "cpu") return {};
  int threads = options.n_threads > 0 ? options.n_threads : available_cores();
  app::Multiply type = options.exact ? app::Multiply::F32 : app::Multiply::Int8;
  return {app::read_bandwidth(threads) / 1e9, app::multiply_rate(threads, type, options.isa) / 1e12,
          options.exact ? "float32 multiply rate" : "int8 multiply rate"};
}

// Bytes and operations of an ideal kernel against the two limits: the larger share says which one is near.
void add_floor(Json& values, std::vector<std::string>& cells, const Target::Floor& floor, double ms,
               const Peaks& peaks) {
  values["bytes_read"] = floor.bytes > 0 ? Json(floor.bytes) : Json(nullptr);
  values["share_of_limit"] = nullptr, values["limit"] = nullptr;
  if (floor.bytes <= 0) {
    cells.insert(cells.end(), {"–", "–"});
    return;
  }
  values["flop"] = floor.flops;
  values["gb_s"] = def::gb_s(floor.bytes, ms), values["tflop_s"] = def::tflop_s(floor.flops / 1e9, ms);
  cells.push_back(fmt::format("{:.2f}", def::gb_s(floor.bytes, ms)));
  if (peaks.gb_s <= 0 || peaks.tflop_s <= 0) {
    cells.push_back("–");
    return;
  }
  def::Position p = def::position(floor.bytes, floor.flops / 1e9, ms, peaks.gb_s, peaks.tflop_s);
  bool by_bytes = p.share_of_bandwidth >= p.share_of_arithmetic;
  double share = std::max(p.share_of_bandwidth, p.share_of_arithmetic);
  values["share_of_limit"] = share, values["limit"] = by_bytes ? "read bandwidth" : peaks.multiply;
  values["share_of_bandwidth"] = p.share_of_bandwidth, values["share_of_arithmetic"] = p.share_of_arithmetic;
  cells.push_back(fmt::format("{:.1f} % ({})", share * 100, by_bytes ? "bytes" : "multiply"));
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

Block bench_block(const BenchArgs& args, Target& target, const std::vector<Row>& rows, const Peaks& peaks,
                  const EnergyMeter* energy) {
  Block b{.name = "bench", .title = "Speed of " + target.label()};
  b.table.columns = {"test", "tok/s", "±", "cv", "n", "first run", "steady", "GB/s", "of the limit", "J/token"};
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
    add_floor(v, cells, target.floor(row.shape), stats::summarize(times_of(row.list)).mean, peaks);
    bool has_energy = row.joules > 0 && row.joule_tokens > 0;
    v["j_per_token"] = has_energy ? Json(row.joules / row.joule_tokens) : Json(nullptr);
    cells.push_back(has_energy ? fmt::format("{:.3g}", row.joules / row.joule_tokens) : "–");
    if (not_steady) b.notes.push_back(row.shape.name() + ": " + steady.words);
    if (std::string o = stats::outlier_words(rates); !o.empty()) b.notes.push_back(row.shape.name() + ": " + o);
    tests.push_back(std::move(v));
    b.table.rows.push_back(std::move(cells));
  }
  b.values = {{"target", target.label()}, {"provenance", target.provenance()}, {"tests", tests}};
  b.values["limit_gb_s"] = peaks.gb_s > 0 ? Json(peaks.gb_s) : Json(nullptr);
  b.values["limit_tflop_s"] = peaks.tflop_s > 0 ? Json(peaks.tflop_s) : Json(nullptr);
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
  Peaks peaks;
  if (!args.no_machine) {
    energy.emplace();
    peaks = peaks_of(args.measure.engine.options);
  }
  MachineTrack machine;
  std::vector<double> watts;
  measure(args, target, rows, energy && !energy->sources().empty() ? &*energy : nullptr, machine, watts, output);
  machine.end();
  for (size_t i = 0; i < rows.size(); ++i)
    if (const Measurement* first = target.first(rows[i].shape))
      output.sample(sample_json(rows[i].shape, *first, {.variant = args.target, .phase = "cold", .position = int(i)}));
  Block block = bench_block(args, target, rows, peaks, energy ? &*energy : nullptr);
  block.values["power_w"] = power_json(watts);
  output.block(block);
  output.block(machine_block(machine));
}

}  // namespace tally::lab
