// tally info: what a model file holds, what it needs, and whether that fits this machine.
#include <cstdio>
#include <memory>

#include "app/info.h"
#include "app/jsonl.h"
#include "app/model_path.h"
#include "cli/command.h"

namespace tally::cli {
namespace {

struct Options {
  std::string model;
  bool json = false;
  app::InfoOptions info;
};

void run(const Options& options) {
  const gguf::File file = gguf::File::open(app::find_model(options.model));
  const app::ModelInfo info = app::read_info(file, options.info, app::read_machine_memory());
  const std::string text = options.json ? app::dump_json(app::info_json(file, info, options.info)) + "\n"
                                        : app::info_text(file, info, options.info);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

void add_info(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("info", "what a model file holds, what it needs, and whether that fits here");
  command->add_option("MODEL", options->model, "model file or name")->required();
  command->add_flag("--json", options->json,
                    "one JSON document: metadata, tensors [name, type, shape, offset, bytes], types, parameters,\n"
                    "bytes_per_token, memory {machine, by_context}");
  command->add_flag("--program", options->info.program, "with the model's Program, one line per op");
  command->add_flag("--tensors", options->info.tensors, "with the list of tensors (--json always has it)");
  command->add_flag("--metadata", options->info.metadata, "with the metadata (--json always has it)");
  command->add_flag("--full", options->info.full, "metadata with its long arrays and texts");
  command->add_option("--ctx", options->info.context_length, "memory for this context length alone");
  command->callback([options] { run(*options); });
}

}  // namespace tally::cli
