// The parts of `tally lab all` that no other command has.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "app/memory.h"
#include "app/model_path.h"
#include "lab/all.h"
#include "lab/stats.h"
#include "lab/verdict.h"

namespace tally::lab {

Block fingerprint_block(const AllArgs& args) {
  const std::filesystem::path path = app::find_model(args.measure.engine.model);
  const gguf::File file = gguf::File::open(path.string());
  runtime::EngineOptions options = args.measure.engine.options;
  if (options.context_length == 0) options.context_length = args.prompt + args.gen;
  const app::MemoryNeed need = app::memory_need(file, options);
  const Json machine = fingerprint();
  Block b{.name = "fingerprint", .title = "What ran, and where"};
  b.values = {{"model", path.filename().string()},
              {"weights_sha256", weights_sha256(path)},
              {"file_bytes", std::filesystem::file_size(path)},
              {"bits_per_weight", need.bits_per_weight},
              {"read_per_token_bytes", need.always_read + need.routed},
              {"machine", machine}};
  b.table.columns = {"", "value"};
  auto row = [&](const std::string& name, const std::string& value) { b.table.rows.push_back({name, value}); };
  row("model", path.filename().string());
  row("SHA-256 of its file", b.values["weights_sha256"]);
  row("file", fmt::format("{:.1f} MB, {:.2f} bits a weight", double(std::filesystem::file_size(path)) / 1e6,
                          need.bits_per_weight));
  row("weights read for a token", fmt::format("{:.1f} MB", double(need.always_read + need.routed) / 1e6));
  for (const auto& [key, value] : machine.items())
    row(key, value.is_string() ? value.get<std::string>() : value.dump());
  return b;
}

namespace {

Block null_block(const TestShape& shape, const std::vector<double>& r, double max_spread) {
  Block b{.name = "null", .title = fmt::format("Null run: the same against itself, {}", shape.name())};
  const auto [low, high] = std::minmax_element(r.begin(), r.end());
  const double spread = *high / *low;
  const Equivalence e = equivalent(r);
  b.values = {{"test", shape.name()},
              {"null_ratio", e.interval.geometric_mean},
              {"null_ratio_ci", {e.interval.interval.low, e.interval.interval.high}},
              {"level", 0.9},
              {"smallest_bound", e.smallest_bound},
              {"spread", spread},
              {"n", r.size()},
              {"null_ratios", r}};
  if (spread > max_spread) {
    b.not_valid = fmt::format(
        "the largest round ratio is {:.2f} times the smallest (at most {:.2f}): something else ran here, and no "
        "difference on this machine means anything now",
        spread, max_spread);
    return b;
  }
  b.table = {{"", "ratio", "90 % interval", "spread", "n"},
             {{"A / A", fmt::format("{:.4f}", e.interval.geometric_mean),
               fmt::format("{:.4f} … {:.4f}", e.interval.interval.low, e.interval.interval.high),
               fmt::format("{:.3f}", spread), fmt::format("{}", r.size())}}};
  b.verdict = e.words;
  b.notes.push_back(fmt::format("differences below {:.1f} % cannot be told from none here", 100 * e.smallest_bound));
  return b;
}

}  // namespace

void run_null(const AllArgs& args, Output& output) {
  const TargetOptions options = args.measure.target_options();
  auto a = open_target("tally", options), again = open_target("tally", options);
  const std::vector<TestShape> shapes{{.n_prompt = args.prompt}, {.n_gen = args.gen}};
  const Rounds rounds = measure_rounds({{"A", a.get()}, {"A again", again.get()}}, shapes, args.rounds, output, 3);
  for (size_t s = 0; s < shapes.size(); ++s) {
    std::vector<double> r;
    for (size_t i = 0; i < rounds.of[0][s].size(); ++i)
      r.push_back(rounds.of[1][s][i].rate() / rounds.of[0][s][i].rate());
    output.block(null_block(shapes[s], r, args.max_spread));
  }
  output.block(machine_block(rounds.machine));
}

}  // namespace tally::lab
