// tally run on a terminal: a chat with history, editing (libedit) and commands. An interrupt ends the answer, not the
// session.
#include <fmt/format.h>
#include <histedit.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "app/text_stream.h"
#include "base/error.h"
#include "cli/run_args.h"

namespace tally::cli {
namespace {

constexpr const char* kHelp =
    "/help           this list\n"
    "/clear          forget the conversation\n"
    "/system TEXT    set the system message and forget the conversation\n"
    "/temp X         temperature (0: most likely token)\n"
    "/n N            most tokens per answer\n"
    "/tokens         how full the context is\n"
    "/quit           leave (or Ctrl-D)\n"
    "Ctrl-C          ends an answer; the session stays\n";

char* prompt_text(EditLine*) {
  static char text[] = "> ";
  return text;
}

class Chat {
 public:
  Chat(const RunArgs& args, Speaker& speaker) : args_(args), s_(speaker) {
    if (!args.temperature_given) {
      auto own = speaker.model->file.metadata().find_real("general.sampling.temp");
      args_.sampling.temperature = own ? float(*own) : 0.7f;
    }
    forget();
  }
  ~Chat() { s_.engine().close(sequence_); }

  // False: leave.
  bool handle(const std::string& line) {
    if (line.empty()) return true;
    if (line[0] != '/') {
      answer(line);
      return true;
    }
    std::string command = line.substr(0, line.find(' '));
    std::string rest = command.size() < line.size() ? line.substr(command.size() + 1) : "";
    if (command == "/quit" || command == "/exit" || command == "/bye") return false;
    if (command == "/help")
      fmt::print("{}", kHelp);
    else if (command == "/clear")
      forget();
    else if (command == "/system")
      args_.system = rest, forget();
    else if (command == "/temp")
      args_.sampling.temperature = std::strtof(rest.c_str(), nullptr);
    else if (command == "/n")
      args_.n_predict = std::max(1, std::atoi(rest.c_str()));
    else if (command == "/tokens")
      fmt::print("{} of {} tokens\n", sequence_.tokens.size(), s_.engine().context_length());
    else
      fmt::print("unknown command {}; /help lists them\n", command);
    return true;
  }

 private:
  void forget() {
    messages_ = nlohmann::ordered_json::array();
    if (!args_.system.empty()) messages_.push_back({{"role", "system"}, {"content", args_.system}});
    s_.engine().close(sequence_);
    sequence_ = s_.engine().open();
  }

  // The part of the rendered conversation that the sequence has not consumed. When the template changed what came
  // before (cut out old reasoning, say), everything is read again.
  std::vector<int32_t> fresh_tokens() {
    std::vector<int32_t> all = s_.chat->encode({.messages = messages_});
    const std::vector<int32_t>& known = sequence_.tokens;
    bool extends = all.size() > known.size() && std::equal(known.begin(), known.end(), all.begin());
    if (!extends) {
      s_.engine().close(sequence_);
      sequence_ = s_.engine().open();
      return all;
    }
    return {all.begin() + known.size(), all.end()};
  }

  void answer(const std::string& text) {
    messages_.push_back({{"role", "user"}, {"content", text}});
    try {
      std::vector<int32_t> ids = fresh_tokens();
      app::TextStream stream(*s_.tokenizer, args_.stops);
      runtime::GenerateStats stats;
      s_.model->ledger.reset_totals();
      clear_interrupt();
      runtime::generate(
          s_.engine(), sequence_, ids, settings_of(args_, s_),
          [&](int32_t id) {
            std::fputs(stream.push(id).c_str(), stdout);
            std::fflush(stdout);
            return !stream.stopped();
          },
          &stats);
      fmt::print("{}\n", stream.flush());
      if (!args_.engine.quiet) fmt::print(stderr, "\x1b[2m{}\x1b[0m\n", summary(s_, stats, s_.model->ledger));
      messages_.push_back({{"role", "assistant"}, {"content", stream.text()}});
      ++args_.sampling.seed;  // the same question again may get another answer
    } catch (const Error& e) {
      fmt::print(stderr, "{}\n", e.what());
      messages_.erase(messages_.size() - 1);
    }
  }

  RunArgs args_;
  Speaker& s_;
  nlohmann::ordered_json messages_;
  runtime::Sequence sequence_;
};

}  // namespace

void run_chat(const RunArgs& args, Speaker& speaker) {
  if (!speaker.tokenizer)
    fail(ErrorCode::BadInput, "{}: has no tokenizer; give token ids with --jsonl", speaker.model->file.path());
  Chat chat(args, speaker);
  std::unique_ptr<EditLine, void (*)(EditLine*)> edit(el_init("tally", stdin, stdout, stderr), el_end);
  std::unique_ptr<History, void (*)(History*)> history(history_init(), history_end);
  HistEvent event;
  ::history(history.get(), &event, H_SETSIZE, 1000);
  el_set(edit.get(), EL_PROMPT, prompt_text);
  el_set(edit.get(), EL_EDITOR, "emacs");
  el_set(edit.get(), EL_HIST, ::history, history.get());
  el_set(edit.get(), EL_SIGNAL, 1);
  fmt::print("{}, {}\nWrite a message; /help lists the commands.\n",
             speaker.model->file.metadata().find_text("general.name").value_or("a model"),
             speaker.engine().device().description);
  for (;;) {
    int n = 0;
    const char* line = el_gets(edit.get(), &n);
    if (!line || n <= 0) {
      if (interrupted()) {  // Ctrl-C at the prompt: a fresh line
        clear_interrupt();
        fmt::print("\n");
        continue;
      }
      break;
    }
    std::string text(line, n);
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
    if (!text.empty()) ::history(history.get(), &event, H_ENTER, text.c_str());
    if (!chat.handle(text)) break;
  }
}

}  // namespace tally::cli
