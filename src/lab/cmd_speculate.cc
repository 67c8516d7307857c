// tally lab speculate: can drafting pay, and does it?

#include "app/read_file.h"
#include "base/error.h"
#include "lab/command.h"
#include "lab/speculate.h"

namespace tally::lab {

namespace {

std::string read_text(const std::string& path) {
  if (path.empty()) return "";
  std::string text = app::read_file(path);
  if (text.empty()) fail(ErrorCode::BadInput, "{}: is empty; text to continue is expected", path);
  return text.substr(0, 2000);  // a beginning is enough
}

}  // namespace

void add_speculate(CLI::App& lab) {
  struct Args {
    EngineCommand command;
    SpeculateOptions options;
    std::string text_file, target;
  };
  auto a = std::make_shared<Args>();
  CLI::App* c = lab.add_subcommand(
      "speculate", "time of a forward over several positions, break-even of drafting, and measured acceptance");
  a->command.add_to(*c);
  c->add_option("--widths", a->options.widths, "positions of a forward; 1 is always among them")
      ->delimiter(',')
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
  c->add_option("--drafts", a->options.drafts, "drafted tokens a round, for the measured acceptance")
      ->delimiter(',')
      ->check(CLI::Range(1, runtime::kMaxDraft))
      ->capture_default_str();
  c->add_option("-d,--depth", a->options.depth, "tokens before the forward")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  c->add_option("-n,--n-gen", a->options.n_gen, "tokens generated per measurement of acceptance")
      ->check(CLI::Range(2, 1 << 20))
      ->capture_default_str();
  c->add_option("--text", a->text_file, "a file with prose to continue (default: a built-in paragraph)");
  c->add_option("--target", a->target, std::string("measure another engine's widths:\n") + kTargetHelp);
  c->callback([a] {
    SpeculateOptions& o = a->options;
    o.rounds = a->command.rounds, o.max_spread = a->command.max_spread, o.seed = a->command.seed;
    o.text = read_text(a->text_file);
    Output out("speculate", a->command.json, a->command.head());
    if (a->target.empty()) {
      run_speculate(a->command.engine, o, out);
    } else {
      auto target = open_target(a->target, {.model = a->command.engine.model, .engine = a->command.engine.options});
      run_speculate_target(*target, a->target, o, out);
    }
    out.finish();
  });
}

}  // namespace tally::lab
