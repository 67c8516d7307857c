// tally synth: models of exact shapes with random weights.
#include <fmt/format.h>

#include <memory>

#include "app/quantize_rules.h"
#include "app/synth.h"
#include "base/error.h"
#include "cli/command.h"

namespace tally::cli {
namespace {

struct Options {
  app::SynthOptions synth;
  bool list = false, progress = false, quiet = false;
};

void print_sizes() {
  fmt::print("{:<12} {:<8} {:>6} {:>6} {:>7}  {}\n", "arch", "size", "layers", "hidden", "experts", "shapes of");
  for (const app::SynthSize& s : app::synth_sizes())
    fmt::print("{:<12} {:<8} {:>6} {:>6} {:>7}  {}\n", s.architecture, s.size, s.n_layers, s.hidden_size,
               s.n_experts > 0 ? fmt::format("{}/{}", s.n_used, s.n_experts) : "", s.name);
  fmt::print("types:");
  for (const app::Preset& preset : app::presets()) fmt::print(" {}", preset.name);
  fmt::print("\n");
}

void run(Options& options) {
  if (options.list) return print_sizes();
  if (options.synth.architecture.empty() || options.synth.path.empty())
    fail(ErrorCode::Usage,
         "synth: ARCH and -o FILE are needed, for instance: tally synth llama --size 1b -o model.gguf");
  if (options.progress) options.synth.progress = app::ProgressMode::On;
  if (options.quiet) options.synth.progress = app::ProgressMode::Off;
  const app::SynthResult r = app::synthesize(options.synth);
  if (options.quiet) return;
  fmt::print("{}: {}, {} tensors, {:.2f} B parameters, in {:.1f} s ({:.2f} GB/s)\n", options.synth.path,
             app::human_bytes(r.bytes), r.n_tensors, static_cast<double>(r.n_parameters) * 1e-9, r.seconds,
             static_cast<double>(r.bytes) * 1e-9 / r.seconds);
}

}  // namespace

void add_synth(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("synth", "write a model of exact shapes with random weights, for timing and tests");
  app::SynthOptions& o = options->synth;
  command->add_option("ARCH", o.architecture, "architecture, for instance qwen35moe");
  command->add_option("--size", o.size, "size, for instance 35b-a3b (--list shows them)")->default_val("tiny");
  command->add_option("--types", o.types, "mixture of tensor types (--list shows them)")->capture_default_str();
  command->add_option("--layers", o.n_layers, "layers of the trunk, in place of the size's own");
  command->add_flag("--mtp", o.mtp, "add the block for multi-token prediction (qwen35, qwen35moe)");
  command->add_option("-o,--output", o.path, "file to write");
  command->add_option("--seed", o.seed, "of the weights: equal seeds give equal files")->capture_default_str();
  command->add_option("--threads", o.n_threads, "threads that write; 0: all cores in reach");
  command->add_flag("--list", options->list, "show the sizes and mixtures that are known");
  command->add_flag("--progress", options->progress, "show progress even when standard error is no terminal");
  command->add_flag("--quiet", options->quiet, "print nothing");
  command->callback([options] { run(*options); });
}

}  // namespace tally::cli
