// tally quantize: writes a model with other number formats.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "app/jsonl.h"
#include "app/model_path.h"
#include "app/quantize.h"
#include "app/quantize_rules.h"
#include "cli/command.h"

namespace tally::cli {
namespace {

using nlohmann::ordered_json;

struct Args {
  app::QuantizeOptions options;
  bool json = false, quiet = false, progress = false;
};

const char* name_of(quant::TypeId id) { return quant::type_of(id).name; }

// Float formats lose single values; for block formats only the mean error means something.
bool is_plain(const app::QuantizedTensor& tensor) {
  return tensor.before != tensor.after && quant::type_of(tensor.after).block_elements == 1;
}

struct Totals {
  uint64_t bytes_before = 0, bytes_after = 0, n_reencoded = 0, n_changed = 0, n_zeroed = 0;
  double error_max = 0;
};

Totals totals_of(const std::vector<app::QuantizedTensor>& tensors) {
  Totals t;
  for (const app::QuantizedTensor& tensor : tensors) {
    t.bytes_before += tensor.bytes_before;
    t.bytes_after += tensor.bytes_after;
    t.n_reencoded += tensor.before != tensor.after;
    if (!is_plain(tensor)) continue;
    t.n_changed += tensor.change.n_changed;
    t.n_zeroed += tensor.change.n_zeroed;
    t.error_max = std::fmax(t.error_max, tensor.change.error_max);
  }
  return t;
}

ordered_json to_json(const Args& args, const std::vector<app::QuantizedTensor>& tensors) {
  ordered_json rows = ordered_json::array();
  for (const app::QuantizedTensor& tensor : tensors) {
    ordered_json row = {{"name", tensor.name},
                        {"shape", tensor.dims},
                        {"type_before", name_of(tensor.before)},
                        {"type_after", name_of(tensor.after)},
                        {"bytes_before", tensor.bytes_before},
                        {"bytes_after", tensor.bytes_after},
                        {"rmse", tensor.change.rmse}};
    if (is_plain(tensor)) {
      row["n_changed"] = tensor.change.n_changed;
      row["n_zeroed"] = tensor.change.n_zeroed;
      row["error_max"] = tensor.change.error_max;
    }
    rows.push_back(std::move(row));
  }
  const Totals t = totals_of(tensors);
  return {{"input", args.options.input},
          {"output", args.options.output},
          {"type", args.options.type.empty() ? ordered_json() : ordered_json(args.options.type)},
          {"map", args.options.map.empty() ? ordered_json() : ordered_json(args.options.map)},
          {"tensors", std::move(rows)},
          {"n_reencoded", t.n_reencoded},
          {"bytes_before", t.bytes_before},
          {"bytes_after", t.bytes_after},
          {"n_changed", t.n_changed},
          {"n_zeroed", t.n_zeroed},
          {"error_max", t.error_max}};
}

void print_report(const Args& args, const std::vector<app::QuantizedTensor>& tensors) {
  for (const app::QuantizedTensor& tensor : tensors) {
    if (tensor.before == tensor.after) continue;
    fmt::print("{:<40} {:>7} -> {:<7} {:>10}  rmse {:.3g}\n", tensor.name, name_of(tensor.before),
               name_of(tensor.after), app::human_bytes(tensor.bytes_after), tensor.change.rmse);
  }
  const Totals t = totals_of(tensors);
  fmt::print("{}: {} of {} tensors re-encoded, {} before, {} after\n", args.options.output, t.n_reencoded,
             tensors.size(), app::human_bytes(t.bytes_before), app::human_bytes(t.bytes_after));
  if (t.n_changed > 0) {
    fmt::print("{} values lost bits, {} of them became zero; the largest error is {:.3g}\n", t.n_changed, t.n_zeroed,
               t.error_max);
  }
}

void warn_about_quantized_input(const std::vector<app::QuantizedTensor>& tensors) {
  for (const app::QuantizedTensor& tensor : tensors) {
    if (tensor.before == tensor.after || quant::type_of(tensor.before).block_elements == 1) continue;
    fmt::print(
        stderr,
        "tally: warning: tensor \"{}\" (and perhaps others) was quantized before, as {}; errors add up, a model of "
        "f32, f16 or bf16 weights is a better source\n",
        tensor.name, name_of(tensor.before));
    return;
  }
}

std::string known_types() {
  std::string known;
  for (const app::Preset& preset : app::presets()) known += (known.empty() ? "" : ", ") + std::string(preset.name);
  return known;
}

void run(Args args) {
  args.options.input = app::find_model(args.options.input);
  if (args.progress) args.options.progress = app::ProgressMode::On;
  if (args.quiet) args.options.progress = app::ProgressMode::Off;
  const auto tensors = app::quantize_file(args.options);
  if (!args.quiet) warn_about_quantized_input(tensors);
  if (args.json) {
    fmt::print("{}\n", app::dump_json(to_json(args, tensors)));
  } else if (!args.quiet) {
    print_report(args, tensors);
  }
}

}  // namespace

void add_quantize(CLI::App& app) {
  auto args = std::make_shared<Args>();
  CLI::App* command = app.add_subcommand("quantize", "write a model with other number formats");
  command->add_option("IN", args->options.input, "model (the first shard of a split one: the result is one file)")
      ->required();
  command->add_option("OUT", args->options.output, "file to write; a refused run leaves none")->required();
  command->add_option("--type", args->options.type, "mixture of formats: " + known_types());
  command->add_option(
      "--map", args->options.map,
      "FROM=TO, for instance bf16=f16: re-encode tensors of that type (f32, f16, bf16), rounding to nearest\n"
      "even; alone it leaves every other byte as it is");
  command->add_flag("--strict", args->options.strict,
                    "refuse to change any value when re-encoding to f32, f16 or bf16");
  command->add_option("--threads", args->options.n_threads, "threads (default: the cores at hand)")
      ->check(CLI::Range(1, 1024));
  command->add_flag(
      "--json", args->json,
      "one JSON document: tensors [name, shape, type_before, type_after, bytes_before, bytes_after, rmse; and\n"
      "for f32, f16, bf16 n_changed, n_zeroed, error_max], totals");
  command->add_flag("--progress", args->progress, "show progress even when standard error is not a terminal");
  command->add_flag("--quiet", args->quiet, "no report, no progress");
  command->callback([args] { run(*args); });
}

}  // namespace tally::cli
