#include "lab/agent.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "app/exit_status.h"
#include "base/error.h"
#include "lab/def_agent.h"
#include "lab/stats.h"
#include "lab/target.h"

namespace tally::lab {

namespace {

constexpr double kNoiseMax = 0.15;  // of measured rates; beyond, nothing follows from them

struct Rates {
  double prefill = 0, decode = 0;  // tok/s
  double slack = 0.005;            // share by which a residual may be negative: what the rates are uncertain by
  double noise = 0;                // cv of their measurements; 0 when given
  std::string from;
};

double median_ms(const std::vector<Measurement>& list, double* noise) {
  std::vector<double> ms;
  for (const Measurement& m : list) ms.push_back(m.ms / m.tokens);
  const stats::Summary s = stats::summarize(ms);
  *noise = std::max(*noise, s.cv);
  return s.median;
}

// The prompt's rate from the slope between two lengths: time to the first token holds the fixed cost too, which belongs
// into the residual.
Rates measured_rates(const AgentArgs& args) {
  TargetOptions options;
  options.timeout_s = args.timeout_s;
  auto target = open_target(args.endpoint + (args.model.empty() ? "" : " model=" + args.model), options);
  const std::array tests{TestShape{.n_prompt = 128}, TestShape{.n_prompt = 512}, TestShape{.n_gen = 32}};
  const auto found = target->measure(tests, 3);
  Rates r;
  double noise = 0;
  const double t1 = median_ms(found[0], &noise) * found[0][0].tokens;
  const double t2 = median_ms(found[1], &noise) * found[1][0].tokens;
  const double n = found[1][0].tokens - found[0][0].tokens;
  if (!(t2 > t1 && n > 0))
    fail(ErrorCode::Failed, "{}: {} tokens take {:.1f} ms to the first token and {} tokens {:.1f} ms; no rate follows",
         args.endpoint, found[0][0].tokens, t1, found[1][0].tokens, t2);
  r.prefill = 1e3 * n / (t2 - t1);
  r.decode = 1e3 / median_ms(found[2], &noise);
  r.noise = noise;
  r.slack = std::clamp(2 * noise, 0.005, 0.1);
  r.from = fmt::format(
      "measured on the endpoint: prompt from the slope between {:.0f} and {:.0f} tokens, answer from the "
      "times between tokens; a residual below −{:.1f} % is an error",
      found[0][0].tokens, found[1][0].tokens, 100 * r.slack);
  return r;
}

Rates rates_of(const AgentArgs& args) {
  if (args.prefill_tok_s && args.decode_tok_s)
    return {*args.prefill_tok_s, *args.decode_tok_s, 0.005, 0, "given on the command line"};
  Rates r = measured_rates(args);
  if (args.prefill_tok_s) r.prefill = *args.prefill_tok_s;
  if (args.decode_tok_s) r.decode = *args.decode_tok_s;
  return r;
}

void write_samples(const AgentRun& run, int round, Output& output) {
  for (size_t i = 0; i < run.turns.size(); ++i) {
    const AgentTurn& t = run.turns[i];
    output.sample({{"test", fmt::format("turn {}", i + 1)},
                   {"variant", "agent"},
                   {"round", round},
                   {"position_in_round", i},
                   {"value", t.wall_ms},
                   {"unit", "ms"},
                   {"ttft_ms", t.first_ms},
                   {"tool_ms", t.tool_ms},
                   {"tokens_in", int64_t(t.tokens_in)},
                   {"tokens_cached", int64_t(t.tokens_cached)},
                   {"tokens_out", int64_t(t.tokens_out)},
                   {"tools", t.tools},
                   {"finish_reason", t.finish_reason}});
  }
  output.sample({{"test", "task"}, {"variant", "agent"}, {"round", round}, {"value", run.wall_s}, {"unit", "s"}});
}

Json json_of(const AgentTurn& t, const Rates& rates) {
  return {{"tokens_in", t.tokens_in},
          {"tokens_cached", t.tokens_cached},
          {"tokens_out", t.tokens_out},
          {"prefill_ms", 1e3 * t.tokens_in / rates.prefill},
          {"decode_ms", 1e3 * t.tokens_out / rates.decode},
          {"tool_ms", t.tool_ms},
          {"wall_ms", t.wall_ms},
          {"tools", t.tools}};
}

// One run taken apart.
Block taken_apart(const AgentRun& run, const Rates& rates) {
  Block b{.name = "agent", .title = "Agent task: list files, read one, sum it up in two bullets"};
  std::vector<def::Turn> turns;
  b.values["turns"] = Json::array();
  b.table.columns = {"turn", "tokens in", "already there", "tokens out", "ms", "prompt ms", "answer ms", "tools"};
  for (const AgentTurn& t : run.turns) {
    turns.push_back({t.tokens_in, t.tokens_out});
    const Json j = json_of(t, rates);
    b.values["turns"].push_back(j);
    b.table.rows.push_back({fmt::format("{}", turns.size()), fmt::format("{:.0f}", t.tokens_in),
                            fmt::format("{:.0f}", t.tokens_cached), fmt::format("{:.0f}", t.tokens_out),
                            fmt::format("{:.1f}", t.wall_ms), fmt::format("{:.1f}", j["prefill_ms"].get<double>()),
                            fmt::format("{:.1f}", j["decode_ms"].get<double>()),
                            t.tools.empty() ? "–" : fmt::format("{}", fmt::join(t.tools, ", "))});
  }
  b.values["wall_ms"] = 1e3 * run.wall_s;
  b.values["prefill_tok_s"] = rates.prefill;
  b.values["decode_tok_s"] = rates.decode;
  b.values["bullets"] = run.n_bullets;
  b.values["scripted"] = run.scripted.empty() ? Json(nullptr) : Json(run.scripted);
  b.notes.push_back(
      fmt::format("rates: prompt {:.1f} tok/s, answer {:.1f} tok/s, {}", rates.prefill, rates.decode, rates.from));
  if (!run.scripted.empty())
    b.notes.push_back("scripted: " + run.scripted + ", so the command gave it the file as text; the time is of that");
  if (run.n_bullets != 2)
    b.notes.push_back(
        fmt::format("the answer has {} bullets, asked for 2: the time stands, the task is not solved", run.n_bullets));
  if (rates.noise > kNoiseMax) {
    b.not_valid = fmt::format(
        "the rates of the endpoint spread by {:.0f} % (cv) over 3 measurements, at most {:.0f} % are "
        "of use; repeat on a quiet machine, or give --prefill-rate and --decode-rate",
        100 * rates.noise, 100 * kNoiseMax);
    return b;
  }
  try {
    const def::AgentTask task =
        def::agent_task(turns, rates.prefill, rates.decode, run.tools_s, run.wall_s, rates.slack);
    b.values["residual_ms"] = 1e3 * *task.residual_s;
    b.values["prompt_share"] = task.prompt_share;
    b.verdict = task.words;
  } catch (const Error& e) {
    b.not_valid = fmt::format("{}{}", e.what(),
                              run.turns.size() > 1 ? " (a server that keeps prefixes without reporting cached tokens "
                                                     "looks like this)"
                                                   : "");
    app::exit_status() = int(ErrorCode::Failed);
  }
  return b;
}

// All runs: spread, and the time at one length of answer.
Block over_runs(const std::vector<AgentRun>& runs, const AgentArgs& args, const Rates& rates) {
  Block b{.name = "agent_runs", .title = "Agent task, all runs"};
  std::vector<double> wall, out;
  for (const AgentRun& r : runs) wall.push_back(r.wall_s), out.push_back(r.tokens_out());
  const double reference = args.reference_out.value_or(stats::summarize(out).median);
  b.table.columns = {"run",    "s", "tokens in", "tokens out", fmt::format("s at {:.0f} tokens out", reference),
                     "bullets"};
  b.values["runs"] = Json::array();
  std::vector<double> normal;
  for (size_t i = 0; i < runs.size(); ++i) {
    normal.push_back(def::length_normalised_s(wall[i], out[i], reference, rates.decode));
    b.values["runs"].push_back({{"wall_s", wall[i]}, {"tokens_out", out[i]}, {"normalised_s", normal[i]}});
    b.table.rows.push_back({fmt::format("{}", i + 1), fmt::format("{:.3f}", wall[i]),
                            fmt::format("{:.0f}", runs[i].tokens_in()), fmt::format("{:.0f}", out[i]),
                            fmt::format("{:.3f}", normal[i]), fmt::format("{}", runs[i].n_bullets)});
  }
  const stats::Summary w = stats::summarize(wall), n = stats::summarize(normal);
  b.values["reference_out"] = reference;
  b.values["mean_s"] = w.mean;
  b.values["cv"] = wall.size() > 1 ? Json(w.cv) : Json(nullptr);
  b.values["normalised_mean_s"] = n.mean;
  b.values["normalised_cv"] = wall.size() > 1 ? Json(n.cv) : Json(nullptr);
  b.verdict = fmt::format("{:.3f} s on average, n {}", w.mean, wall.size());
  if (wall.size() > 1)
    b.verdict += fmt::format(", spread (cv) {:.1f} %; at {:.0f} tokens out {:.3f} s, spread {:.1f} %", 100 * w.cv,
                             reference, n.mean, 100 * n.cv);
  return b;
}

}  // namespace

void run_agent(const AgentArgs& args, Output& output) {
  const Rates rates = rates_of(args);
  HttpClient client(args.endpoint.substr(0, args.endpoint.find(' ')), args.timeout_s);
  const SampleFolder folder(args.words);
  std::vector<AgentRun> runs;
  for (int i = 0; i < args.runs; ++i) {
    runs.push_back(run_agent_task(client, args, folder, i + 1));
    write_samples(runs.back(), i, output);
  }
  // The run of median time stands for all.
  std::vector<size_t> order(runs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return runs[a].wall_s < runs[b].wall_s; });
  const AgentRun& middle = runs[order[(order.size() - 1) / 2]];
  output.block(taken_apart(middle, rates));
  try {
    output.block(over_runs(runs, args, rates));
  } catch (const Error& e) {
    output.block({.name = "agent_runs", .title = "Agent task, all runs", .not_valid = e.what()});
    app::exit_status() = int(ErrorCode::Failed);
  }
}

}  // namespace tally::lab
