// tally diff: two backends in lock-step; prints the first op whose error exceeds what its kernel's numerics allow.
#include "app/diff.h"
#include "app/exit_status.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/engine_args.h"
#include "app/jsonl.h"
#include "app/model_path.h"
#include "app/tokenizer_from_gguf.h"
#include "base/error.h"
#include "base/rng.h"
#include "models/registry.h"

namespace tally::cli {
namespace {

struct Options {
  app::EngineArgs engine;
  app::DiffOptions diff;
  std::string prompt, feed;
  int n_tokens = 16;
  bool all = false, json = false;
};

std::vector<int32_t> tokens_of(const Options& o, const gguf::File& file) {
  if (!o.prompt.empty()) return app::tokenizer_from_gguf(file.metadata()).encode(o.prompt, true, true);
  int vocab = models::build_program(models::source_of(file)).vocab_size;
  std::vector<int32_t> ids(o.n_tokens);
  for (int i = 0; i < o.n_tokens; ++i) ids[i] = static_cast<int32_t>(random_u64(7, i) % vocab);
  return ids;
}

nlohmann::ordered_json json_of(const app::DiffRow& r) {
  return {{"op", r.op},         {"layer", r.layer}, {"kind", r.kind},       {"value", r.value},
          {"kernel", r.kernel}, {"error", r.error}, {"max_abs", r.max_abs}, {"allowed", r.allowed}};
}

void print_row(const app::DiffRow& r) {
  fmt::print("{:>5} {:>5}  {:<14} {:<22} {:<28} {:>10.2e} {:>10.2e} {:>10.2e}{}\n", r.op, r.layer, r.kind, r.value,
             r.kernel, r.error, r.max_abs, r.allowed, r.bad() ? "  <-- too far" : "");
}

void run(Options& o) {
  if (!o.feed.empty() && o.feed != "a") fail(ErrorCode::Usage, "--feed {}: only \"a\" can feed", o.feed);
  if (!o.engine.ledger_path.empty() || !o.engine.trace_out.empty())
    fail(ErrorCode::Usage, "--ledger and --trace-out: two devices in lock-step are compared, not timed; use tally run");
  o.diff.feed = !o.feed.empty();
  o.diff.engine = o.engine.options;
  gguf::File file = gguf::File::open(app::find_model(o.engine.model));
  std::vector<app::DiffRow> rows = app::diff(file, tokens_of(o, file), o.diff);
  if (rows.empty()) fail(ErrorCode::Usage, "no op matches --layer and --op; `tally info MODEL --program` lists them");
  auto bad = std::find_if(rows.begin(), rows.end(), [](const app::DiffRow& r) { return r.bad(); });
  if (o.json) {
    nlohmann::ordered_json out{{"a", o.diff.device_a},
                               {"b", o.diff.device_b},
                               {"first_bad", bad == rows.end() ? nlohmann::ordered_json() : json_of(*bad)}};
    for (const app::DiffRow& r : rows) out["values"].push_back(json_of(r));
    fmt::print("{}\n", app::dump_json(out));
  } else {
    fmt::print("{:>5} {:>5}  {:<14} {:<22} {:<28} {:>10} {:>10} {:>10}\n", "op", "layer", "kind", "value",
               "kernel of " + o.diff.device_b, "error", "max |Δ|", "allowed");
    const app::DiffRow* worst = &rows[0];
    for (const app::DiffRow& r : rows) {
      if (o.all || r.bad()) print_row(r);
      if (r.error / r.allowed > worst->error / worst->allowed) worst = &r;
    }
    if (!o.all && bad == rows.end()) print_row(*worst);
    if (bad == rows.end())
      fmt::print("{} values agree; above: the worst\n", rows.size());
    else
      fmt::print("{} values compared; the first that is too far stands first\n", rows.size());
  }
  app::exit_status() = bad == rows.end() ? 0 : static_cast<int>(ErrorCode::Failed);
}

}  // namespace

void add_diff(CLI::App& app) {
  auto o = std::make_shared<Options>();
  CLI::App* c =
      app.add_subcommand("diff", "compare two backends value by value; exit status 1 when they differ too much");
  o->engine.add_to(*c);
  c->add_option("--a", o->diff.device_a, "the device that is right")->capture_default_str();
  c->add_option("--b", o->diff.device_b, "the device that is checked")->capture_default_str();
  c->add_option("--layer", o->diff.layer, "only this layer");
  c->add_option("--op", o->diff.op, "only ops of this kind (linear, attention, …)");
  c->add_option("--feed", o->feed, "a: give each op of b the inputs that a had");
  c->add_option("-p,--prompt", o->prompt, "text to run (default: random tokens)");
  c->add_option("--tokens", o->n_tokens, "how many random tokens")->check(CLI::Range(1, 4096))->capture_default_str();
  c->add_flag("--all", o->all, "print every value");
  c->add_flag("--json", o->json, "one JSON document");
  c->callback([o] { run(*o); });
}

}  // namespace tally::cli
