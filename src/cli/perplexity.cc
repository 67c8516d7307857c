// tally perplexity: how well a model predicts a text.
#include "app/perplexity.h"
#include "app/read_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include "app/engine_args.h"
#include "app/jsonl.h"
#include "app/tokenizer_from_gguf.h"
#include "base/error.h"

namespace tally::cli {
namespace {

struct Options {
  app::EngineArgs engine;
  std::string text;
  int windows = 0;
  bool json = false;
};

void run(Options& o) {
  int ctx = o.engine.options.context_length > 0 ? o.engine.options.context_length : 512;
  o.engine.options.context_length = ctx;
  auto model = app::open_model(o.engine);
  text::Tokenizer tokenizer = app::tokenizer_from_gguf(model->file.metadata());
  std::vector<int32_t> tokens = tokenizer.encode(app::read_file(o.text), false, false);
  int32_t bos = tokenizer.add_bos() ? tokenizer.bos() : -1;
  bool show = !o.engine.quiet && isatty(2);
  app::PerplexityResult r = app::perplexity(*model->engine, tokens, ctx, o.windows, bos, [&](int done, int total) {
    if (show) fmt::print(stderr, "\rwindow {} of {}{}", done, total, done == total ? "\n" : "");
  });
  if (o.json) {
    nlohmann::ordered_json out{{"perplexity", r.perplexity()},
                               {"nll_sum", r.nll_sum},
                               {"n_scored", r.n_scored},
                               {"ctx", ctx},
                               {"windows", r.n_windows}};
    fmt::print("{}\n", app::dump_json(out));
  } else {
    fmt::print("perplexity {:.4f} over {} tokens ({} windows of {})\n", r.perplexity(), r.n_scored, r.n_windows, ctx);
  }
}

}  // namespace

void add_perplexity(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("perplexity", "how well a model predicts a text");
  o->engine.add_to(*command);
  command->add_option("FILE", o->text, "text file")->required();
  command->add_option("--windows", o->windows, "the first so many windows of --ctx tokens (default: all)")
      ->check(CLI::Range(0, 1 << 24));
  command->add_flag("--json", o->json, "one JSON document");
  command->callback([o] { run(*o); });
}

}  // namespace tally::cli
