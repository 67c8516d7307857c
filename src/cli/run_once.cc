// tally run with one prompt: streams the text, then says how fast it was and, with --explain, where the time went.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "app/exit_status.h"
#include "app/explain.h"
#include "app/limits.h"
#include "app/text_stream.h"
#include "base/error.h"
#include "cli/run_args.h"

namespace tally::cli {

namespace {

std::vector<int32_t> prompt_ids(const RunArgs& args, Speaker& s, const std::string& prompt, bool is_message,
                                bool fresh) {
  if (!args.ids.empty()) return args.ids;
  if (!s.tokenizer) fail(ErrorCode::BadInput, "{}: has no tokenizer; give token ids with --ids", s.model->file.path());
  if (!is_message) return s.tokenizer->encode(prompt, fresh, true);
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  if (!args.system.empty()) messages.push_back({{"role", "system"}, {"content", args.system}});
  messages.push_back({{"role", "user"}, {"content", prompt}});
  return s.chat->encode({.messages = messages});
}

}  // namespace

void run_once(const RunArgs& args, Speaker& s, const std::string& prompt, bool is_message) {
  runtime::Engine& engine = s.engine();
  ledger::Ledger& ledger = s.model->ledger;
  bool fresh = args.load_state.empty();
  std::vector<int32_t> ids = prompt_ids(args, s, prompt, is_message, fresh);
  if (ids.empty()) fail(ErrorCode::Usage, "the prompt is empty; give text with -p, or on standard input");
  runtime::Sequence sequence = fresh ? engine.open() : engine.restore_file(args.load_state);
  if (!is_message && fresh && isatty(1)) fmt::print("{}", prompt);
  std::optional<app::TextStream> stream;
  if (s.tokenizer) stream.emplace(*s.tokenizer, args.stops);
  std::vector<app::Explanation> parts;
  runtime::GenerateStats stats;
  runtime::GenerateSettings settings = settings_of(args, s);
  settings.constraint = constraint_of(args, s);
  bool first = true;
  int32_t last = 0;
  runtime::Finish finish = runtime::generate(
      engine, sequence, ids, settings,
      [&](int32_t id) {
        last = id;
        if (first) {  // the prompt's part of the ledger ends here
          parts.push_back(app::explain("prompt", ledger, engine, 0, ids.size()));
          ledger.reset_totals();
          first = false;
        }
        std::fputs(stream ? stream->push(id).c_str() : fmt::format("{} ", id).c_str(), stdout);
        std::fflush(stdout);
        return !stream || !stream->stopped();
      },
      &stats);
  fmt::print("{}\n", stream ? stream->flush() : "");
  std::fflush(stdout);
  if (!args.engine.quiet) fmt::print(stderr, "{}\n", summary(s, stats, ledger));
  if (args.explain) {
    double limit = app::read_bandwidth(engine.device().n_workers);
    parts.front().wall_ns = double(stats.prompt_ns);
    if (stats.n_generated > 1)
      parts.push_back(app::explain("decode", ledger, engine, stats.decode_ns, stats.n_generated - 1));
    fmt::print(stderr, "\n{}; reads {:.1f} GB/s\n", engine.device().description, limit * 1e-9);
    for (const app::Explanation& part : parts) fmt::print(stderr, "\n{}", app::explain_text(part, limit));
  }
  if (!args.save_state.empty()) {
    // The last token was chosen but not read yet; the state is to stand after all of the text.
    if (int(sequence.tokens.size()) < engine.context_length()) engine.decode(sequence, last);
    engine.save_file(sequence, args.save_state);
  }
  engine.close(sequence);
  if (finish == runtime::Finish::Cancelled) app::exit_status() = static_cast<int>(ErrorCode::Interrupted);
}

}  // namespace tally::cli
