#include "lab/measuring.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/model_path.h"
#include "base/check.h"
#include "base/error.h"

namespace tally::lab {

void MeasureArgs::add_to(CLI::App& command, bool model_required) {
  engine.add_to(command);
  command.get_option("MODEL")->required(model_required);
  json_option = command
                    .add_option("--json", json,
                                "raw samples and results: JSON Lines to FILE, or one JSON document on standard output")
                    ->expected(0, 1)
                    ->type_name("[FILE]");
  command.add_option("--timeout", timeout_s, "seconds that a child process or a request may take")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  command.add_option("--seed", seed, "of the random prompts")->capture_default_str();
}

std::optional<std::string> MeasureArgs::json_to() const {
  if (!json_option || json_option->count() == 0) return std::nullopt;
  return json;
}

TargetOptions MeasureArgs::target_options() const {
  return {.model = engine.model, .engine = engine.options, .timeout_s = timeout_s, .seed = seed};
}

void ShapeArgs::add_to(CLI::App& command, bool with_batches) {
  auto list = [&](const char* name, std::vector<int>& values, const char* text, int low) {
    command.add_option(name, values, text)->delimiter(',')->check(CLI::Range(low, 1 << 20))->capture_default_str();
  };
  list("-p,--prompt", prompts, "prompt lengths to read, as pp512; 0: none", 0);
  list("-n,--gen", gens, "numbers of tokens to generate, as tg128; 0: none", 0);
  list("-d,--depth", depths, "tokens that are there before, as pp512@d4096", 0);
  if (with_batches) list("-b,--batch", batches, "sequences that generate at once, as tg128@b4", 1);
}

std::vector<TestShape> ShapeArgs::shapes() const {
  std::vector<TestShape> out;
  auto add = [&](const TestShape& s) {
    if (std::find(out.begin(), out.end(), s) == out.end()) out.push_back(s);
  };
  for (int d : depths) {
    for (int p : prompts)
      if (p > 0) add({.n_prompt = p, .depth = d});
    for (int n : gens)
      for (int b : batches)
        if (n > 0) add({.n_gen = n, .depth = d, .batch = b});
  }
  if (out.empty()) fail(ErrorCode::Usage, "nothing to measure: -p and -n are both 0");
  return out;
}

void add_inner(CLI::App& command, int& inner) {
  command.add_option("-k,--inner", inner, "runs in a row, of which the median is the round's value")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
}

Json head_of(const MeasureArgs& args, const std::string& weights) {
  Json head{{"machine", fingerprint()}, {"seed", args.seed}};
  head["model"] = args.engine.model.empty() ? Json(nullptr) : Json(args.engine.model);
  head["weights_sha256"] = weights.empty() ? Json(nullptr) : Json(weights);
  return head;
}

Json sample_json(const TestShape& shape, const Measurement& m, const SampleTag& tag) {
  Json j{{"test", shape.name()},
         {"variant", tag.variant},
         {"phase", tag.phase},
         {"round", tag.round},
         {"position_in_round", tag.position},
         {"value", m.rate()},
         {"unit", "tok/s"},
         {"ms", m.ms},
         {"tokens", m.tokens},
         {"lower_bound", m.lower_bound}};
  j.update(m.fields);
  return j;
}

std::vector<int> permutation(int n, int round) {
  CHECK(n >= 1 && round >= 0);
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  if (n <= 4) {
    // A round and the next mirror each other, so that a drift within them cancels; of each such pair of orders the one
    // with the smaller first place comes first.
    int pairs = n == 4 ? 12 : n == 3 ? 3 : 1;
    for (int left = (round / 2) % pairs; left > 0;) {
      std::next_permutation(order.begin(), order.end());
      left -= order.front() < order.back();
    }
  } else {
    std::rotate(order.begin(), order.begin() + (round / 2) % n, order.end());
  }
  if (round % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

const Measurement& median_of(const std::vector<Measurement>& runs) {
  CHECK(!runs.empty());
  std::vector<size_t> order(runs.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return runs[a].ms < runs[b].ms; });
  return runs[order[(order.size() - 1) / 2]];
}

Rounds measure_rounds(const std::vector<Variant>& variants, const std::vector<TestShape>& shapes, int rounds,
                      Output& output, int inner) {
  Rounds r;
  r.of.assign(variants.size(), std::vector<std::vector<Measurement>>(shapes.size()));
  for (const Variant& v : variants) v.target->measure(shapes, 0);  // warms every shape of those that can be warmed
  r.machine = MachineTrack();
  for (int round = 0; round < rounds; ++round) {
    if (round == rounds / 2) r.machine.middle();
    std::vector<int> order = permutation(static_cast<int>(variants.size()), round);
    for (size_t at = 0; at < order.size(); ++at) {
      const Variant& v = variants[order[at]];
      std::vector<std::vector<Measurement>> got = v.target->measure(shapes, inner);
      for (size_t s = 0; s < shapes.size(); ++s) {
        r.of[order[at]][s].push_back(median_of(got[s]));
        for (const Measurement& m : got[s])
          output.sample(sample_json(shapes[s], m, {.variant = v.name, .round = round, .position = int(at)}));
      }
    }
    if (isatty(2)) fmt::print(stderr, "\rround {} of {}{}", round + 1, rounds, round + 1 == rounds ? "\n" : "");
  }
  r.machine.end();
  return r;
}

std::string require_same_weights(const std::vector<Variant>& variants, std::vector<std::string>* notes) {
  std::string known, owner;
  for (const Variant& v : variants) {
    std::string hash = v.target->weights_sha256();
    if (hash.empty()) {
      notes->push_back(v.name + ": its weights are not known; that they are the same is taken on trust");
      continue;
    }
    if (!known.empty() && hash != known)
      fail(ErrorCode::BadInput,
           "different weights: {} runs {}…, {} runs {}… (SHA-256); speeds compare on the same file only, `tally lab "
           "menu` "
           "sets models side by side",
           owner, known.substr(0, 12), v.name, hash.substr(0, 12));
    known = hash, owner = v.name;
  }
  return known;
}

std::vector<double> rates_of(const std::vector<Measurement>& list) {
  std::vector<double> out;
  for (const Measurement& m : list) out.push_back(m.rate());
  return out;
}

std::vector<double> times_of(const std::vector<Measurement>& list) {
  std::vector<double> out;
  for (const Measurement& m : list) out.push_back(m.ms);
  return out;
}

bool any_lower_bound(const std::vector<Measurement>& list) {
  return std::any_of(list.begin(), list.end(), [](const Measurement& m) { return m.lower_bound; });
}

std::string rate_text(double rate, bool lower_bound) {
  int decimals = rate > 0 ? std::clamp(3 - int(std::floor(std::log10(rate))), 0, 6) : 0;
  return fmt::format("{}{:.{}f}", lower_bound ? "≥ " : "", rate, decimals);
}

Block machine_block(const MachineTrack& machine) {
  Block b{.name = "machine", .title = "The machine meanwhile", .values = machine.json()};
  b.notes = machine.warnings();
  if (b.notes.empty()) b.verdict = "Nothing stood out: clocks, throttling and stolen time.";
  return b;
}

std::vector<double> clocks_of(const MachineTrack& machine) {
  std::vector<double> out;
  for (const MachineState& s : machine.at) {
    std::optional<double> mhz = s.clock_mhz ? s.clock_mhz : s.reported_mhz;
    if (!mhz) return {};
    out.push_back(*mhz);
  }
  return out;
}

}  // namespace tally::lab
