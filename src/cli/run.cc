// tally run: text from a model. One prompt, lines of requests, or a chat on a terminal.
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <iterator>

#include "app/limits.h"
#include "app/memory.h"
#include "app/tokenizer_from_gguf.h"
#include "base/error.h"
#include "cli/run_args.h"

namespace tally::cli {

namespace {

std::atomic<bool> was_interrupted{false};

void on_interrupt(int) {
  if (was_interrupted.exchange(true)) _exit(static_cast<int>(ErrorCode::Interrupted));  // a second one ends at once
}

void add_sampling(CLI::App& c, RunArgs& a) {
  c.add_option_function<float>(
      "--temp", [&a](float x) { a.sampling.temperature = x, a.temperature_given = true; },
      "temperature; 0 takes the most likely token (default: 0, in a chat the model's own or 0.7)");
  c.add_option("--top-k", a.sampling.top_k, "draw among the k most likely tokens; 0: off")->capture_default_str();
  c.add_option("--top-p", a.sampling.top_p, "draw among the most likely tokens up to this mass; 1: off")
      ->capture_default_str();
  c.add_option("--min-p", a.sampling.min_p, "drop tokens below this share of the most likely one; 0: off")
      ->capture_default_str();
  c.add_option("--repeat-penalty", a.sampling.repeat_penalty, "against tokens of the last --penalty-last-n; 1: off")
      ->capture_default_str();
  c.add_option("--presence-penalty", a.sampling.presence_penalty, "subtracted once from tokens seen")
      ->capture_default_str();
  c.add_option("--frequency-penalty", a.sampling.frequency_penalty, "subtracted per occurrence")->capture_default_str();
  c.add_option("--penalty-last-n", a.sampling.penalty_last_n, "tokens that penalties look back; -1: all")
      ->capture_default_str();
  c.add_option("--seed", a.sampling.seed, "of the random numbers; the same seed gives the same text")
      ->capture_default_str();
  c.add_option("--stop", a.stops, "end when this text appears (may be repeated)");
  c.add_flag("--ignore-eos", a.ignore_eos, "go on after end-of-text tokens");
}

Speaker open_speaker(RunArgs& args) {
  Speaker s;
  s.model = app::open_model(args.engine);
  if (!args.jsonl && !args.engine.quiet) fmt::print(stderr, "{}\n", app::fit_line(s.model->file, args.engine.options));
  const gguf::Metadata& meta = s.model->file.metadata();
  if (app::has_tokenizer(meta)) {
    s.tokenizer.emplace(app::tokenizer_from_gguf(meta));
    s.chat.emplace(meta, *s.tokenizer);
    if (!s.tokenizer->warning().empty() && !args.engine.quiet) fmt::print(stderr, "{}\n", s.tokenizer->warning());
  }
  return s;
}

void run(RunArgs& args) {
  Speaker speaker = open_speaker(args);
  if (args.jsonl) return run_jsonl_mode(args, speaker);
  watch_interrupts();
  if (!args.tools.empty()) {
    if (!args.has_message) fail(ErrorCode::Usage, "--tools needs a message (-m) or --jsonl");
    return run_tools(args, speaker, args.message);
  }
  if (args.has_message) return run_once(args, speaker, args.message, true);
  if (args.has_prompt || !args.ids.empty()) return run_once(args, speaker, args.prompt, false);
  if (isatty(0)) {
    if (!args.json_schema.empty() || !args.grammar.empty())
      fail(ErrorCode::Usage, "a chat obeys no --json-schema or --grammar; give one text with -p or -m");
    return run_chat(args, speaker);
  }
  std::string prompt((std::istreambuf_iterator<char>(std::cin)), {});
  run_once(args, speaker, prompt, false);
}

}  // namespace

const std::atomic<bool>& interrupted() { return was_interrupted; }
void clear_interrupt() { was_interrupted = false; }
void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: a read of the terminal returns
  sigaction(SIGINT, &action, nullptr);
}

runtime::GenerateSettings settings_of(const RunArgs& args, const Speaker& speaker) {
  runtime::GenerateSettings s;
  s.sampling = args.sampling;
  s.n_predict = args.n_predict;
  s.ignore_stop_ids = args.ignore_eos;
  if (speaker.tokenizer) s.stop_ids = speaker.tokenizer->eog_ids(), s.n_choices = speaker.tokenizer->vocab_size();
  if (auto banned = speaker.model->file.metadata().find_ints("tokenizer.ggml.suppress_tokens"))
    s.banned.assign(banned->begin(), banned->end());
  s.cancel = &was_interrupted;
  return s;
}

std::string summary(Speaker& speaker, const runtime::GenerateStats& stats, const ledger::Ledger& ledger) {
  int n = stats.n_generated - 1;  // the first token comes from the prompt
  double seconds = stats.decode_ns * 1e-9, prompt_seconds = stats.prompt_ns * 1e-9;
  double bytes = 0;
  for (const ledger::PlanRecord& plan : ledger.plans())
    for (const ledger::StepTotal& total : plan.totals) bytes += double(total.bytes);
  double rate = seconds > 0 ? bytes / seconds : 0, limit = app::read_bandwidth(speaker.engine().device().n_workers);
  std::string out = fmt::format("{} tokens, {:.1f} tokens/s, {:.1f} GB/s", stats.n_generated,
                                n > 0 && seconds > 0 ? n / seconds : 0, rate * 1e-9);
  if (limit > 0) out += fmt::format(" ({:.0f} % of this machine's {:.1f})", 100 * rate / limit, limit * 1e-9);
  out += fmt::format("; prompt {} tokens, {:.1f} tokens/s", stats.n_prompt,
                     prompt_seconds > 0 ? stats.n_prompt / prompt_seconds : 0);
  if (stats.n_drafted > 0) out += fmt::format("; {} of {} drafts accepted", stats.n_accepted, stats.n_drafted);
  return out + fmt::format("; logits {:016x}", stats.logits_hash);
}

void add_run(CLI::App& app) {
  auto a = std::make_shared<RunArgs>();
  CLI::App* c = app.add_subcommand("run", "text from a model: one prompt, or a chat on a terminal");
  a->engine.add_to(*c);
  auto* prompt = c->add_option("-p,--prompt", a->prompt,
                               "text to continue, as it is (default: standard input; a chat when that is a terminal)");
  auto* message = c->add_option("-m,--message", a->message, "one message to answer, put into the model's chat template")
                      ->excludes(prompt);
  c->add_option("--ids", a->ids, "a prompt as token ids, for models without a tokenizer")
      ->delimiter(',')
      ->excludes(prompt)
      ->excludes(message);
  c->add_option("--system", a->system, "system message of the chat");
  c->add_option("-n,--n-predict", a->n_predict, "most tokens to generate; -1: until the context is full")
      ->capture_default_str();
  add_sampling(*c, *a);
  c->add_option("--speculate", a->engine.options.n_draft,
                "draft up to so many tokens a step with the model's own MTP block and verify them")
      ->check(CLI::Range(0, runtime::kMaxDraft))
      ->expected(0, 1)
      ->default_str("3");
  auto* schema = c->add_option("--json-schema", a->json_schema,
                               "a file with a JSON Schema: the text is JSON that the schema accepts");
  auto* grammar =
      c->add_option("--grammar", a->grammar, "a file with a grammar in GBNF that the text obeys")->excludes(schema);
  auto* tools = c->add_option("--tools", a->tools,
                              "a file with tools as in a chat request; calls are printed as JSON, one a line");
  tools->excludes(schema)->excludes(grammar);
  c->add_option("--tool-choice", a->tool_choice, "auto, none, required, or the name of the tool to call")
      ->capture_default_str()
      ->needs(tools);
  c->add_flag("--explain", a->explain, "then print where the time went, by segment");
  c->add_option("--save-state", a->save_state, "write the sequence's state to this file at the end");
  c->add_option("--load-state", a->load_state, "continue from a saved state: the prompt comes after its tokens");
  c->add_flag(
      "--jsonl", a->jsonl,
      R"(one request a line: {"prompt" or "ids" or "messages":…, "n_predict":64, "temperature":0, "top_k", "top_p", "min_p", "seed", "stop":[…], "ignore_eos":false, "json_schema":{…} or "grammar":"GBNF"; with "messages" also "tools":[…], "tool_choice"})");
  c->callback([a, prompt, message] {
    a->has_prompt = prompt->count() > 0, a->has_message = message->count() > 0;
    run(*a);
  });
}

}  // namespace tally::cli
