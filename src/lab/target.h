// What can be measured: this program on a model, another build of it, llama-bench, any endpoint that speaks the OpenAI
// dialects, any command. All give the same raw measurements, so that every lab command works on each.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/output.h"
#include "runtime/engine.h"

namespace tally::lab {

// One thing to time: reading a prompt of n_prompt tokens, or generating n_gen tokens (exactly one of the two is
// positive), after `depth` tokens that are already there, for `batch` sequences at once.
struct TestShape {
  int n_prompt = 0, n_gen = 0, depth = 0, batch = 1;
  // The names of llama-bench: "pp512", "tg128", "pp512@d4096"; and "tg128@b4" for four sequences at once.
  std::string name() const;
  int64_t n_tokens() const { return int64_t(n_prompt + n_gen) * batch; }
  bool operator==(const TestShape&) const = default;
  auto operator<=>(const TestShape&) const = default;
};

// One raw measurement.
struct Measurement {
  double ms = 0;
  double tokens = 0;         // that the rate counts: asked for, or as the server reports them
  bool lower_bound = false;  // the rate is at least this: time to the first token holds more than reading the prompt
  Json fields = Json::object();  // further fields of docs/lab-json.md: prompt_sha256, dispatches, finish_reason …
  double rate() const { return tokens / ms * 1e3; }
};

struct TargetOptions {
  std::string model;              // GGUF file or name; may be empty for endpoints and commands
  runtime::EngineOptions engine;  // for tally itself; n_threads for others too (0: their default)
  double timeout_s = 1800;        // of a child process or a request
  uint64_t seed = 1;
};

class Target {
 public:
  virtual ~Target() = default;
  // How reports call it.
  const std::string& label() const { return label_; }
  // Of the file that it runs; "" when that cannot be known.
  virtual std::string weights_sha256() = 0;
  // What it is: "kind", and version, commit, options, model, as far as known.
  virtual Json provenance() = 0;
  // `reps` measurements of each test, in the order of tests; every shape is warmed first where this is the target's
  // first time of it (reps = 0: only that). Errors when the test is not possible or the other program fails.
  virtual std::vector<std::vector<Measurement>> measure(std::span<const TestShape> tests, int reps) = 0;
  // Whether each call of measure() starts a process that loads the model.
  virtual bool starts_process() const { return false; }
  // Bytes that must be read and operations that must be done for a test (ideal, from the model); zero: not known.
  struct Floor {
    double bytes = 0, flops = 0;
  };
  virtual Floor floor(const TestShape&) { return {}; }
  // The warm-up of a test (its first run, with whatever is set up on the way); null when there was none or it is the
  // other program's own affair.
  virtual const Measurement* first(const TestShape&) { return nullptr; }
  // Hash over the greedy choices that followed this test's tokens when it was warmed; "" when there is none.
  virtual std::string output_sha256(const TestShape&) { return ""; }

 protected:
  std::string label_;
};

// spec, one spelling for all commands (kTargetHelp is the text for --help):
std::unique_ptr<Target> open_target(const std::string& spec, const TargetOptions& options);

inline constexpr const char* kTargetHelp =
    "tally [options]            this program, in process, with options of `tally run` (--threads 1, --kernel …)\n"
    "tally:PATH [options]       another build of it, by its own `lab bench --json`\n"
    "llama-bench:PATH [options] llama.cpp's llama-bench\n"
    "json:COMMAND               any command that prints llama-bench's JSON; {model} {prompt} {gen} {depth} {threads}\n"
    "                           {reps} are filled in; no shell\n"
    "http://HOST:PORT [options] an endpoint of the OpenAI dialects; options: model=NAME, api=completions|chat,\n"
    "                           weights=FILE (what it serves), ignore_eos=0\n"
    "cmd:COMMAND                a shell command timed as a whole; {n} is the length ({gen}, {model}, {threads} too)";

// Lower-case hex.
std::string sha256_of(const void* data, size_t size);
// Hash of a run of token ids, for "prompt_sha256" and "output_sha256".
std::string sha256_of_ids(std::span<const int32_t> ids);

}  // namespace tally::lab
