// tally lab agent: a real task for an agent against a running server.
#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "lab/agent.h"
#include "lab/machine.h"

namespace tally::lab {

namespace {

void agent(const AgentArgs& args, const std::optional<std::string>& json) {
  Output output("agent", json,
                {{"endpoint", args.endpoint},
                 {"model", args.model},
                 {"machine", fingerprint()},
                 {"words", args.words},
                 {"max_tokens", args.max_tokens}});
  run_agent(args, output);
  output.finish();
}

}  // namespace

void add_agent(CLI::App& lab) {
  auto args = std::make_shared<AgentArgs>();
  auto json = std::make_shared<std::string>();
  CLI::App* command = lab.add_subcommand(
      "agent",
      "a real agent task against a running server: list files, read one, sum it up; its time taken apart (M21)");
  command->add_option("--endpoint", args->endpoint, "http://HOST:PORT of a server of the OpenAI dialects")->required();
  command->add_option("--model", args->model, "as the server calls it (default: its first)");
  command->add_option("--runs", args->runs, "how often the task is done")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--words", args->words, "length of the file that is read")
      ->check(CLI::Range(10, 200000))
      ->capture_default_str();
  command->add_option("--max-tokens", args->max_tokens, "of one answer")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--max-turns", args->max_turns, "requests of one task")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--prefill-rate", args->prefill_tok_s, "tok/s of the prompt (default: measured on the endpoint)")
      ->check(CLI::PositiveNumber);
  command->add_option("--decode-rate", args->decode_tok_s, "tok/s of the answer (default: measured on the endpoint)")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--reference-out", args->reference_out,
                   "tokens out that the length-normalised time assumes (default: the median)")
      ->check(CLI::PositiveNumber);
  command->add_option("--timeout", args->timeout_s, "seconds for one request")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI::Option* to_json =
      command
          ->add_option("--json", *json,
                       "raw samples and results: JSON Lines to FILE, or one JSON document on standard output")
          ->expected(0, 1)
          ->type_name("[FILE]");
  command->footer(
      "The residual is the wall clock less tokens ÷ rates less tools. A negative one is an error: the rates or\n"
      "the prompt would be of another run. A model that calls no tools gets the file as text, and that is said.");
  command->callback([args, json, to_json] { agent(*args, to_json->count() ? std::optional(*json) : std::nullopt); });
}

}  // namespace tally::lab
