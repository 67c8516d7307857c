// tally lab tokenizer: six workloads, ours against others on the same texts, break-even in model calls (M18).
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <fstream>
#include <memory>

#include "app/model_path.h"
#include "app/provenance.h"
#include "app/tokenizer_from_gguf.h"
#include "base/error.h"
#include "lab/command.h"
#include "lab/def_agent.h"
#include "lab/stats.h"
#include "lab/stats_bootstrap.h"
#include "lab/target.h"
#include "lab/tokenizer_bench.h"

namespace tally::lab {

namespace {

struct Options {
  std::string model, texts, hf_tokenizer, python = "python3";
  std::vector<std::string> against;
  int rounds = 7;
  double call_ms = 0, at_least_ms = 20;
  std::optional<std::string> json;
};

// A folder of this run alone, gone at its end.
struct Scratch {
  std::filesystem::path path;
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "tally-tokenizer-XXXXXX").string();
    if (!mkdtemp(name.data())) fail(ErrorCode::Resources, "no temporary folder can be made ({})", name);
    path = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
};

struct Rival {
  std::string spec, error, version;
  RivalArgs args;
  std::map<std::string, std::string> differences;     // by workload; "" when the ids are the same
  std::map<std::string, std::vector<double>> ratios;  // theirs / ours, by round
  std::map<std::string, std::vector<double>> ms;
};

struct Session {
  Options o;
  std::string path;
  std::vector<TextWorkload> workloads;
  std::map<std::string, std::vector<double>> ours;  // ms by round
  std::map<std::string, std::vector<std::vector<int32_t>>> ids;
  std::vector<Rival> rivals;
};

Json sample_of(const std::string& workload, const std::string& variant, int round, int position, double ms) {
  return {{"test", "tokenizer " + workload}, {"variant", variant}, {"phase", "warm"}, {"round", round},
          {"position_in_round", position},   {"value", ms},        {"unit", "ms"},    {"ms", ms}};
}

void one_round(Session& s, const text::Tokenizer& tokenizer, const Scratch& scratch, int round, Output& out) {
  std::map<std::string, double> ours;
  bool first = round % 2 == 0;  // ours first in every other round
  std::vector<int> positions(s.rivals.size());
  auto measure_ours = [&] {
    for (const TextWorkload& w : s.workloads) {
      Encoded e = encode_ours(tokenizer, w, s.o.at_least_ms);
      ours[w.name] = e.ms;
      s.ours[w.name].push_back(e.ms);
      s.ids[w.name] = std::move(e.ids);
      out.sample(sample_of(w.name, "tally", round, first ? 0 : static_cast<int>(s.rivals.size()), e.ms));
    }
  };
  if (first) measure_ours();
  std::vector<std::optional<RivalRun>> runs(s.rivals.size());
  for (size_t k = 0; k < s.rivals.size(); ++k) {
    size_t i = (k + static_cast<size_t>(round)) % s.rivals.size();
    positions[i] = static_cast<int>(k) + (first ? 1 : 0);
    if (!s.rivals[i].error.empty()) continue;
    try {
      runs[i] = run_rival(s.rivals[i].args, s.workloads, scratch.path, s.o.at_least_ms, round == 0);
    } catch (const Error& e) {
      if (e.code() == ErrorCode::Interrupted) throw;
      s.rivals[i].error = e.what();
    }
  }
  if (!first) measure_ours();
  for (size_t i = 0; i < s.rivals.size(); ++i) {
    if (!runs[i]) continue;
    Rival& r = s.rivals[i];
    r.version = runs[i]->version;
    for (const TextWorkload& w : s.workloads) {
      const Encoded& e = runs[i]->of[w.name];
      if (round == 0) r.differences[w.name] = first_difference(s.ids[w.name], e.ids);
      r.ratios[w.name].push_back(e.ms / ours[w.name]);
      r.ms[w.name].push_back(e.ms);
      out.sample(sample_of(w.name, r.spec, round, positions[i], e.ms));
    }
  }
}

Block own_block(const Session& s) {
  Block b{.name = "tokenizer", .title = "This tokenizer"};
  b.table.columns = {"workload", "texts", "bytes", "tokens", "MB/s", "tokens/s", "cv", "n"};
  b.values = {{"workloads", Json::array()}};
  for (const TextWorkload& w : s.workloads) {
    stats::Summary t = stats::summarize(s.ours.at(w.name));
    size_t tokens = 0;
    for (const auto& list : s.ids.at(w.name)) tokens += list.size();
    double mb = static_cast<double>(w.bytes()) / t.median / 1e3, rate = 1000 * static_cast<double>(tokens) / t.median;
    b.table.rows.push_back({w.name, fmt::format("{}", w.texts.size()), fmt::format("{}", w.bytes()),
                            fmt::format("{}", tokens), fmt::format("{:.2f}", mb), fmt::format("{:.3g}", rate),
                            fmt::format("{:.1f} %", 100 * t.cv), fmt::format("{}", t.n)});
    b.values["workloads"].push_back({{"name", w.name},
                                     {"bytes", w.bytes()},
                                     {"tokens", tokens},
                                     {"mb_s", mb},
                                     {"tokens_s", rate},
                                     {"cv", t.cv},
                                     {"n", t.n}});
  }
  b.notes.push_back(
      "every text is encoded again and again: what a tokenizer remembers of pieces it has seen counts, for all of "
      "them");
  return b;
}

void rival_row(const Rival& r, const TextWorkload& w, std::optional<double> call_ms, Block& b) {
  if (!r.differences.at(w.name).empty()) {
    b.table.rows.push_back({w.name, "not valid", "", "", r.differences.at(w.name)});
    b.values["workloads"].push_back(
        {{"name", w.name}, {"valid", false}, {"reason", "different ids: " + r.differences.at(w.name)}});
    return;
  }
  const std::vector<double>& ratios = r.ratios.at(w.name);
  double theirs = static_cast<double>(w.bytes()) / stats::summarize(r.ms.at(w.name)).median / 1e3;  // MB/s
  stats::RatioInterval i{.geometric_mean = ratios[0], .interval = {0, 1e300}, .n = 1};
  if (ratios.size() >= 2) i = stats::bootstrap_ratio(ratios);
  std::string even = "no call measured";
  bool shown = i.interval.excludes(1);
  Json row{{"name", w.name},
           {"valid", true},
           {"their_mb_s", theirs},
           {"speed_up", i.geometric_mean},
           {"low", i.n > 1 ? Json(i.interval.low) : Json(nullptr)},
           {"high", i.n > 1 ? Json(i.interval.high) : Json(nullptr)},
           {"n", i.n}};
  if (call_ms) {
    def::TokenizerVerdict v = def::tokenizer_verdict(*call_ms, i.geometric_mean, theirs * 1e6);
    row["break_even_old_ms"] = shown && v.old_ms ? Json(*v.old_ms) : Json(nullptr);
    row["break_even_bytes"] = shown && v.length ? Json(*v.length) : Json(nullptr);
    even = !shown            ? "too noisy to say"
           : !v.length       ? "never"
           : *v.length < 1e6 ? fmt::format("{:.0f} kB", *v.length / 1e3)
                             : fmt::format("{:.1f} MB", *v.length / 1e6);
  }
  b.table.rows.push_back({w.name, fmt::format("{:.2f}", theirs), fmt::format("{:.2f}", i.geometric_mean),
                          i.n > 1 ? fmt::format("{:.2f}…{:.2f}", i.interval.low, i.interval.high) : "one round", even});
  b.values["workloads"].push_back(row);
}

Block rival_block(const Session& s, const Rival& r, std::optional<double> call_ms) {
  Block b{.name = "tokenizer_against", .title = "Against " + r.spec + (r.version.empty() ? "" : " " + r.version)};
  b.values = {{"against", r.spec},
              {"version", r.version},
              {"call_ms", call_ms ? Json(*call_ms) : Json(nullptr)},
              {"workloads", Json::array()}};
  if (!r.error.empty()) {
    b.not_valid = r.error;
    return b;
  }
  b.table.columns = {"workload", "their MB/s", "speed-up", "95 %", "saves one call from"};
  int valid = 0;
  for (const TextWorkload& w : s.workloads) {
    rival_row(r, w, call_ms, b);
    valid += r.differences.at(w.name).empty();
  }
  b.verdict = fmt::format("identical ids on {} of {} workloads{}", valid, s.workloads.size(),
                          valid == 0 ? ": nothing can be compared" : "");
  if (call_ms)
    b.notes.push_back(fmt::format(
        "one model call (a decode step) takes {:.2f} ms: a text shorter than the last column saves less than one",
        *call_ms));
  if (r.args.kind != "llama.cpp")
    b.notes.push_back("timed inside Python, whose call costs about a microsecond: short chat turns feel it");
  return b;
}

// One decode step of the model, ms; nothing (with the reason) when it cannot run.
std::optional<double> measured_call(const std::string& model, std::string& why) {
  try {
    std::unique_ptr<Target> target = open_target("tally", {.model = model});
    const TestShape shape{.n_gen = 8};
    std::vector<std::vector<Measurement>> m = target->measure({&shape, 1}, 5);
    std::vector<double> ms;
    for (const Measurement& x : m[0]) ms.push_back(x.ms / shape.n_gen);
    return stats::summarize(ms).median;
  } catch (const Error& e) {
    if (e.code() == ErrorCode::Interrupted) throw;
    why = e.what();
    return std::nullopt;
  }
}

void prepare_rivals(Session& s, const gguf::File& file, const Scratch& scratch) {
  std::string json_path = s.o.hf_tokenizer, reason;
  bool needs = false;
  for (const std::string& a : s.o.against) needs = needs || a == "hf" || a == "tiktoken";
  if (needs && json_path.empty()) {
    try {
      json_path = (scratch.path / "tokenizer.json").string();
      std::ofstream(json_path, std::ios::binary) << hf_tokenizer_json(app::tokenizer_spec(file.metadata()));
    } catch (const Error& e) {
      reason = e.what();
    }
  }
  for (const std::string& a : s.o.against) {
    Rival r{.spec = a, .args = parse_rival(a)};
    r.args.python = s.o.python;
    r.args.model = s.path;
    r.args.tokenizer_json = json_path;
    if (r.args.kind != "llama.cpp") r.error = reason;
    s.rivals.push_back(std::move(r));
  }
}

void run(const Options& o) {
  Session s{.o = o, .path = app::find_model(o.model)};
  s.workloads = o.texts.empty() ? builtin_workloads() : workloads_in(o.texts);
  gguf::File file = gguf::File::open(s.path);
  text::Tokenizer tokenizer = app::tokenizer_from_gguf(file.metadata());
  Scratch scratch;
  prepare_rivals(s, file, scratch);
  Output out("tokenizer", o.json,
             {{"model", s.path},
              {"provenance", Json::parse(app::provenance_json(file))},
              {"texts", o.texts.empty() ? "built-in" : o.texts}});
  for (int round = 0; round < o.rounds; ++round) one_round(s, tokenizer, scratch, round, out);
  std::string why;
  std::optional<double> call = o.call_ms > 0      ? std::optional(o.call_ms)
                               : s.rivals.empty() ? std::nullopt
                                                  : measured_call(s.path, why);
  out.block(own_block(s));
  for (const Rival& r : s.rivals) {
    Block b = rival_block(s, r, call);
    if (!call && !why.empty()) b.notes.push_back("no break-even: the model cannot run: " + why);
    out.block(b);
  }
  out.finish();
}

}  // namespace

void add_tokenizer(CLI::App& lab) {
  auto o = std::make_shared<Options>();
  CLI::App* command = lab.add_subcommand(
      "tokenizer", "six workloads, ours against others on the same texts, break-even in model calls");
  command->add_option("MODEL", o->model, "GGUF file or name")->required();
  command->add_option("--against", o->against,
                      "hf, tiktoken (through Python), or llama.cpp:PATH (its libllama.so); may be repeated");
  command
      ->add_option("--hf-tokenizer", o->hf_tokenizer,
                   "the model's own tokenizer.json (default: built from MODEL's vocabulary and merges)")
      ->check(CLI::ExistingFile);
  command->add_option("--python", o->python, "Python with the packages tokenizers, tiktoken")->capture_default_str();
  command->add_option(
      "--texts", o->texts,
      "folder with chat.txt, prose.txt, code.txt, cjk.txt, numbers.txt, longword.txt (default: built in)");
  command->add_option("-r,--rounds", o->rounds, "rounds, in each of which everybody encodes everything")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--at-least-ms", o->at_least_ms, "shortest timed stretch of a workload")
      ->check(CLI::Range(0.0, 60000.0))
      ->capture_default_str();
  command->add_option("--call-ms", o->call_ms, "time of one model call (default: a decode step of MODEL, measured)")
      ->check(CLI::PositiveNumber);
  command->add_option("--json", o->json, "JSON Lines to this file (--json=FILE), or one document on standard output")
      ->expected(0, 1);
  command->callback([o] { run(*o); });
}

}  // namespace tally::lab
