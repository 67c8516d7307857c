// tally lab limits: what this machine can do at most.
#include "lab/limits.h"

#include "lab/command.h"
#include "lab/machine.h"

namespace tally::lab {

void add_limits(CLI::App& lab) {
  struct Args {
    LimitsOptions options;
    std::optional<std::string> json;
    bool no_store = false;
  };
  auto a = std::make_shared<Args>();
  CLI::App* c = lab.add_subcommand(
      "limits", "what this machine can do: bandwidth by working set and threads, multiply rates, dispatch and barrier");
  c->add_option("--threads", a->options.n_threads, "most threads (default: the physical cores in reach)")
      ->check(CLI::Range(1, 1024));
  c->add_flag("--no-store", a->no_store, "do not keep the results for other commands");
  c->add_option("--json", a->json, "JSON Lines to this file, or one document on standard output")->expected(0, 1);
  c->callback([a] {
    a->options.store = !a->no_store;
    Output out("limits", a->json, {{"machine", fingerprint()}, {"model", nullptr}, {"weights_sha256", nullptr}});
    run_limits(a->options, out);
    out.finish();
  });
}

}  // namespace tally::lab
