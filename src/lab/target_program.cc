// Targets that are other programs: another tally, llama-bench, a command that prints its JSON, a shell command.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>

#include "app/jsonl.h"
#include "app/model_path.h"
#include "base/error.h"
#include "lab/child.h"
#include "lab/machine.h"
#include "lab/target_kinds.h"

namespace tally::lab {

namespace {

std::string weights_of(const std::string& model) { return model.empty() ? "" : lab::weights_sha256(model); }

Json parse_output(const std::string& text, const std::string& program) {
  try {
    return app::parse_json_ordered(text);
  } catch (const Error& e) {
    fail(ErrorCode::BadInput, "{}: did not print JSON: {}", program, e.what());
  }
}

int int_of(const Json& object, const char* key, int otherwise) {
  auto found = object.find(key);
  return found != object.end() && found->is_number_integer() ? found->get<int>() : otherwise;
}

void check_ms(double ms, const std::string& program, const TestShape& test) {
  if (!(ms > 0) || !std::isfinite(ms))
    fail(ErrorCode::BadInput, "{}: {} took {} ms by its own word", program, test.name(), ms);
}

}  // namespace

std::vector<Measurement> read_llama_bench(const std::string& json, const TestShape& test, const std::string& program,
                                          Json* head) {
  Json rows = parse_output(json, program);
  if (rows.is_object()) rows = Json::array({rows});
  if (!rows.is_array()) fail(ErrorCode::BadInput, "{}: printed JSON, but no array of tests", program);
  for (const Json& row : rows) {
    if (!row.is_object() || int_of(row, "n_prompt", 0) != test.n_prompt || int_of(row, "n_gen", 0) != test.n_gen ||
        int_of(row, "n_depth", 0) != test.depth || !row.contains("samples_ns") || !row["samples_ns"].is_array())
      continue;
    std::vector<Measurement> out;
    for (const Json& ns : row["samples_ns"]) {
      if (!ns.is_number()) fail(ErrorCode::BadInput, "{}: samples_ns of {} holds {}", program, test.name(), ns.dump());
      Measurement& m = out.emplace_back();
      m.ms = ns.get<double>() / 1e6, m.tokens = double(test.n_tokens());
      check_ms(m.ms, program, test);
      m.fields = {{"text_kind", "random ids"}, {"tokens_in", test.n_prompt}, {"tokens_out", test.n_gen}};
    }
    if (head) {
      *head = Json::object();
      for (const auto& [key, value] : row.items())
        if (key.rfind("samples", 0) != 0 && key.rfind("avg", 0) != 0 && key.rfind("stddev", 0) != 0)
          (*head)[key] = value;
    }
    return out;
  }
  fail(ErrorCode::BadInput, "{}: its output has no test {} (n_prompt {}, n_gen {}, n_depth {}) with samples_ns",
       program, test.name(), test.n_prompt, test.n_gen, test.depth);
}

std::vector<Measurement> read_tally_bench(const std::string& json, const TestShape& test, const std::string& program,
                                          Json* head) {
  Json document = parse_output(json, program);
  std::vector<Measurement> out;
  if (!document.is_object() || !document.contains("samples") || !document["samples"].is_array())
    fail(ErrorCode::BadInput, "{}: printed no document with samples; is it a tally with `lab bench`?", program);
  for (const Json& s : document["samples"]) {
    if (!s.is_object() || s.value("test", "") != test.name() || s.value("phase", "") != "warm") continue;
    if (!s.contains("ms") || !s["ms"].is_number()) continue;
    Measurement& m = out.emplace_back();
    m.ms = s["ms"].get<double>(), m.tokens = double(test.n_tokens());
    check_ms(m.ms, program, test);
    for (const char* key : {"dispatches", "text_kind", "prompt_sha256", "tokens_in", "tokens_out", "finish_reason"})
      if (s.contains(key)) m.fields[key] = s[key];
  }
  if (out.empty()) fail(ErrorCode::BadInput, "{}: its output has no samples of {}", program, test.name());
  if (head && document.contains("head")) *head = document["head"];
  return out;
}

namespace {

// "1,2,3"; "0", which both programs take for none, when empty.
std::string comma_list(const std::set<int>& values) {
  std::string s;
  for (int v : values) s += (s.empty() ? "" : ",") + std::to_string(v);
  return s.empty() ? "0" : s;
}

// What the children with JSON share.
class ProgramTarget : public Target {
 public:
  ProgramTarget(const std::string& kind, const TargetOptions& options, bool needs_model)
      : kind_(kind), options_(options) {
    if (!options.model.empty() || needs_model) options_.model = model_path_of(options, "target " + kind);
  }
  std::string weights_sha256() override { return weights_of(options_.model); }
  bool starts_process() const override { return true; }
  Json provenance() override {
    Json j{{"kind", kind_}, {"command", command_}, {"model", options_.model}};
    if (!head_.is_null()) j["says"] = head_;
    return j;
  }

 protected:
  void no_batch(const TestShape& test) const {
    if (test.batch > 1) fail(ErrorCode::Usage, "{}: target {} times one sequence at a time", test.name(), kind_);
  }
  ChildOptions child() const { return {.timeout_s = options_.timeout_s}; }
  int threads() const { return options_.engine.n_threads; }

  std::string kind_, command_;
  TargetOptions options_;
  Json head_;
};

class TallyProgram : public ProgramTarget {
 public:
  TallyProgram(const std::string& text, const TargetOptions& options) : ProgramTarget("tally-program", options, true) {
    words_ = split_words(text);
    if (words_.empty()) fail(ErrorCode::Usage, "target tally: needs the path of a tally program after the colon");
    label_ = "tally:" + text, command_ = text;
  }
  // One start of the program for all tests of a depth and batch size.
  std::vector<std::vector<Measurement>> measure(std::span<const TestShape> tests, int reps) override {
    if (reps == 0) return std::vector<std::vector<Measurement>>(tests.size());  // they warm themselves
    std::map<std::pair<int, int>, std::string> out_of;
    std::vector<std::vector<Measurement>> out;
    for (const TestShape& t : tests) {
      std::string& text = out_of[{t.depth, t.batch}];
      if (text.empty()) text = run_child_ok(argv_for(tests, t, reps), child()).out;
      out.push_back(read_tally_bench(text, t, words_[0], &head_));
    }
    return out;
  }

 private:
  std::vector<std::string> argv_for(std::span<const TestShape> tests, const TestShape& like, int reps) const {
    std::set<int> prompts, gens;
    for (const TestShape& t : tests)
      if (t.depth == like.depth && t.batch == like.batch)
        (t.n_prompt > 0 ? prompts : gens).insert(t.n_prompt + t.n_gen);
    std::vector<std::string> argv{words_[0], "lab", "bench", options_.model, "--json", "--no-machine"};
    argv.insert(argv.end(), words_.begin() + 1, words_.end());
    argv.insert(argv.end(), {"-p", comma_list(prompts), "-n", comma_list(gens), "-d", std::to_string(like.depth), "-b",
                             std::to_string(like.batch), "-r", std::to_string(reps)});
    if (threads() > 0) argv.insert(argv.end(), {"--threads", std::to_string(threads())});
    return argv;
  }

  std::vector<std::string> words_;
};

class LlamaBench : public ProgramTarget {
 public:
  LlamaBench(const std::string& text, const TargetOptions& options) : ProgramTarget("llama-bench", options, true) {
    words_ = split_words(text);
    if (words_.empty()) fail(ErrorCode::Usage, "target llama-bench: needs its path after the colon");
    label_ = "llama-bench:" + text, command_ = text;
  }
  // One start of the program for all tests of a depth.
  std::vector<std::vector<Measurement>> measure(std::span<const TestShape> tests, int reps) override {
    if (reps == 0) return std::vector<std::vector<Measurement>>(tests.size());  // they warm themselves
    std::map<int, std::string> out_of;
    for (const TestShape& t : tests) {
      no_batch(t);
      if (!out_of.count(t.depth)) out_of[t.depth] = run_child_ok(argv_for(tests, t.depth, reps), child()).out;
    }
    std::vector<std::vector<Measurement>> out;
    for (const TestShape& t : tests) out.push_back(read_llama_bench(out_of[t.depth], t, words_[0], &head_));
    for (const char* key : {"n_prompt", "n_gen", "n_depth", "test_time"}) head_.erase(key);
    return out;
  }

 private:
  std::vector<std::string> argv_for(std::span<const TestShape> tests, int depth, int reps) const {
    std::set<int> prompts, gens;
    for (const TestShape& t : tests)
      if (t.depth == depth) (t.n_prompt > 0 ? prompts : gens).insert(t.n_prompt + t.n_gen);
    std::vector<std::string> argv = words_;
    argv.insert(argv.end(), {"-m", options_.model, "-o", "json", "-r", std::to_string(reps)});
    argv.insert(argv.end(), {"-p", comma_list(prompts), "-n", comma_list(gens)});
    if (depth > 0) argv.insert(argv.end(), {"-d", std::to_string(depth)});
    if (threads() > 0) argv.insert(argv.end(), {"-t", std::to_string(threads())});
    return argv;
  }

  std::vector<std::string> words_;
};

using Values = std::vector<std::pair<std::string, std::string>>;

Values values_of(const TestShape& t, int reps, const TargetOptions& o, int threads) {
  return {{"model", o.model},
          {"prompt", std::to_string(t.n_prompt)},
          {"gen", std::to_string(t.n_gen)},
          {"n", std::to_string(t.n_prompt + t.n_gen)},
          {"depth", std::to_string(t.depth)},
          {"threads", threads > 0 ? std::to_string(threads) : ""},
          {"reps", std::to_string(reps)}};
}

class JsonCommand : public ProgramTarget {
 public:
  JsonCommand(const std::string& command, const TargetOptions& options) : ProgramTarget("json", options, false) {
    if (split_words(command).empty()) fail(ErrorCode::Usage, "target json: needs a command after the colon");
    label_ = "json:" + command, command_ = command;
  }
  std::vector<std::vector<Measurement>> measure(std::span<const TestShape> tests, int reps) override {
    if (reps == 0) return std::vector<std::vector<Measurement>>(tests.size());  // they warm themselves
    std::vector<std::vector<Measurement>> out;
    for (const TestShape& t : tests) {
      no_batch(t);
      std::vector<std::string> argv = split_words(command_);
      for (std::string& word : argv) word = fill_in(word, values_of(t, reps, options_, threads()));
      out.push_back(read_llama_bench(run_child_ok(argv, child()).out, t, argv[0], &head_));
    }
    return out;
  }
};

class ShellCommand : public ProgramTarget {
 public:
  ShellCommand(const std::string& command, const TargetOptions& options) : ProgramTarget("cmd", options, false) {
    if (command.empty()) fail(ErrorCode::Usage, "target cmd: needs a command after the colon");
    label_ = "cmd:" + command, command_ = command;
    has_length_ = command.find("{n}") != std::string::npos || command.find("{prompt}") != std::string::npos ||
                  command.find("{gen}") != std::string::npos;
  }
  // Timed as a whole: starting, loading and all.
  std::vector<std::vector<Measurement>> measure(std::span<const TestShape> tests, int reps) override {
    std::vector<std::vector<Measurement>> out;
    for (const TestShape& t : tests) {
      no_batch(t);
      if (t.depth > 0) fail(ErrorCode::Usage, "{}: target cmd knows no depth", t.name());
      std::vector<std::string> argv{"/bin/sh", "-c", fill_in(command_, values_of(t, 1, options_, threads()))};
      std::vector<Measurement>& list = out.emplace_back();
      if (warm_.insert(t).second) run_child_ok(argv, child());
      for (int i = 0; i < reps; ++i) {
        Measurement& m = list.emplace_back();
        m.ms = run_child_ok(argv, child()).wall_ms;
        m.tokens = has_length_ ? double(t.n_tokens()) : 1;
        m.lower_bound = has_length_;
        m.fields = {{"whole_process", true}};
      }
    }
    return out;
  }

 private:
  bool has_length_ = false;
  std::set<TestShape> warm_;
};

}  // namespace

std::unique_ptr<Target> open_tally_program(const std::string& text, const TargetOptions& options) {
  return std::make_unique<TallyProgram>(text, options);
}
std::unique_ptr<Target> open_llama_bench(const std::string& text, const TargetOptions& options) {
  return std::make_unique<LlamaBench>(text, options);
}
std::unique_ptr<Target> open_json_command(const std::string& command, const TargetOptions& options) {
  return std::make_unique<JsonCommand>(command, options);
}
std::unique_ptr<Target> open_shell_command(const std::string& command, const TargetOptions& options) {
  return std::make_unique<ShellCommand>(command, options);
}

}  // namespace tally::lab
