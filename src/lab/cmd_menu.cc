// tally lab menu: several models side by side.
#include <CLI/CLI.hpp>
#include <memory>

#include "lab/machine.h"
#include "lab/menu.h"

namespace tally::lab {

void add_menu(CLI::App& lab) {
  struct Args {
    MenuArgs menu;
    std::string turns = "2000:25,1000:250", json;
  };
  auto a = std::make_shared<Args>();
  CLI::App* c = lab.add_subcommand("menu", "several models side by side: rates, J/token, memory, time of a task");
  c->add_option("MODEL", a->menu.models, "GGUF files or names")->required();
  c->add_option("--target", a->menu.target, std::string("what runs each model:\n") + kTargetHelp)
      ->capture_default_str();
  c->add_option("-p,--prompt", a->menu.prompt, "tokens that are read")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->add_option("-n,--gen", a->menu.gen, "tokens that are generated")
      ->check(CLI::Range(2, 1 << 20))
      ->capture_default_str();
  c->add_option("-r,--rounds", a->menu.rounds, "measurements of each test and model")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  c->add_option("--turns", a->turns, "the task: tokens in and out of each turn")->capture_default_str();
  c->add_option("--max-spread", a->menu.max_spread, "largest spread of a model's rounds that still gives numbers")
      ->check(CLI::Range(1.0, 1e6))
      ->capture_default_str();
  c->add_option("--tools", a->menu.tools_s, "seconds of the task that tools take")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  c->add_option("--threads", a->menu.n_threads, "of each engine (default: all physical cores)")
      ->check(CLI::Range(1, 4096));
  c->add_option("--timeout", a->menu.timeout_s, "seconds that a child process or a request may take")
      ->check(CLI::Range(0.1, 1e6))
      ->capture_default_str();
  c->add_option("--seed", a->menu.seed, "of the random prompts")->capture_default_str();
  CLI::Option* json =
      c->add_option("--json", a->json,
                    "raw samples and results: JSON Lines to FILE, or one JSON document on standard output")
          ->expected(0, 1)
          ->type_name("[FILE]");
  c->callback([a, json] {
    a->menu.turns = parse_turns(a->turns);
    Output output(
        "menu", json->count() ? std::optional(a->json) : std::nullopt,
        {{"models", a->menu.models}, {"machine", fingerprint()}, {"seed", a->menu.seed}, {"turns", a->turns}});
    run_menu(a->menu, output);
    output.finish();
  });
}

}  // namespace tally::lab
