#include "cli/command.h"

namespace tally::cli {

// One line per command: declaration here, definition in <command>.cc.
void add_run(CLI::App& app);
void add_logits(CLI::App& app);
void add_diff(CLI::App& app);
void add_perplexity(CLI::App& app);
void add_pull(CLI::App& app);
void add_ls(CLI::App& app);
void add_rm(CLI::App& app);
void add_completion(CLI::App& app);
void add_dequantize(CLI::App& app);
void add_quantize(CLI::App& app);
void add_grammar(CLI::App& app);
void add_info(CLI::App& app);
void add_render(CLI::App& app);
void add_synth(CLI::App& app);
void add_tokenize(CLI::App& app);
void add_parse(CLI::App& app);

void add_commands(CLI::App& app) {
  app.require_subcommand(1);
  add_run(app);
  add_logits(app);
  add_diff(app);
  add_perplexity(app);
  add_pull(app);
  add_ls(app);
  add_rm(app);
  add_completion(app);
  add_dequantize(app);
  add_quantize(app);
  add_grammar(app);
  add_info(app);
  add_render(app);
  add_synth(app);
  add_tokenize(app);
  add_parse(app);
}

}  // namespace tally::cli
