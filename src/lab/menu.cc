#include "lab/menu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "app/memory.h"
#include "app/model_path.h"
#include "base/error.h"
#include "lab/def_thermal.h"
#include "lab/energy.h"
#include "lab/machine.h"
#include "lab/measuring.h"
#include "lab/stats.h"
#include "lab/stats_distributions.h"

namespace tally::lab {

namespace {

struct Rate {
  double mean = 0, low = 0, high = 0;
  int n = 0;
};

Rate rate_of(const std::vector<double>& x) {
  const stats::Summary s = stats::summarize(x);
  const double half = s.n > 1 ? stats::t_quantile(0.975, s.n - 1) * s.sd / std::sqrt(double(s.n)) : 0;
  return {s.mean, s.mean - half, s.mean + half, s.n};
}

std::string text_of(const Rate& r, bool bound) {
  return r.n > 1 ? fmt::format("{} ± {}", rate_text(r.mean, bound), rate_text(r.high - r.mean, false))
                 : rate_text(r.mean, bound);
}

std::string name_of_model(const std::string& model) { return model.substr(model.find_last_of('/') + 1); }

double total(const std::vector<def::Turn>& turns, double def::Turn::*part) {
  double n = 0;
  for (const def::Turn& t : turns) n += t.*part;
  return n;
}

std::optional<uint64_t> memory_of(const MenuArgs& args, const std::string& model) {
  if (args.target.rfind("tally", 0) != 0) return std::nullopt;
  const gguf::File file = gguf::File::open(app::find_model(model));
  runtime::EngineOptions options;
  options.n_threads = args.n_threads;
  options.context_length =
      int(std::min(1e6, total(args.turns, &def::Turn::tokens_in) + total(args.turns, &def::Turn::tokens_out)));
  return app::memory_need(file, options).total();
}

// One pass over one model: `rounds` measurements of both tests.
void measure_model(const MenuArgs& args, int rounds, int from, EnergyMeter& energy, const OpenTarget& open,
                   MenuRow& row, Output& output) {
  const TargetOptions options{
      .model = row.model, .engine = {.n_threads = args.n_threads}, .timeout_s = args.timeout_s, .seed = args.seed};
  auto target = open(args.target, options);
  const TestShape read{.n_prompt = args.prompt}, write{.n_gen = args.gen};
  if (row.weights_sha256.empty()) row.weights_sha256 = target->weights_sha256();
  const bool has_energy = !energy.sources().empty();
  const std::vector<TestShape> both{read, write};
  target->measure(both, 0);  // engines make room for the largest test once
  for (int i = 0; i < rounds; ++i) {
    for (const TestShape& shape : both) {
      if (has_energy) energy.start();
      const Measurement m = target->measure({&shape, 1}, 1).at(0).at(0);
      const EnergyMeter::Reading reading = has_energy ? energy.stop() : EnergyMeter::Reading{};
      output.sample(
          sample_json(shape, m, {.variant = name_of_model(row.model), .round = from + i, .position = shape.n_gen > 0}));
      (shape.n_gen > 0 ? row.decode : row.prefill).push_back(m.rate());
      if (shape.n_prompt > 0) row.lower_bound = row.lower_bound || m.lower_bound;
      if (shape.n_gen == 0 || !has_energy) continue;
      row.joules += reading.joules, row.joule_tokens += m.tokens, row.watts = reading.watts();
    }
  }
}

// A model whose rounds spread too far has no numbers.
void require_quiet(const MenuArgs& args, MenuRow& row) {
  for (const auto& [name, rates] : {std::pair{"reading", &row.prefill}, {"writing", &row.decode}}) {
    if (!row.problem.empty() || rates->empty()) continue;
    const double spread = stats::quantile(*rates, 0.95) / stats::quantile(*rates, 0.05);
    if (spread > args.max_spread)
      row.problem = fmt::format(
          "{}: the rounds spread by a factor of {:.2f} (5 % to 95 %; at most {:.2f}): something "
          "else ran here",
          name, spread, args.max_spread);
  }
}

void add_model(const MenuArgs& args, const MenuRow& r, Block& b) {
  const std::string name = name_of_model(r.model);
  Json v{{"model", name}, {"weights_sha256", r.weights_sha256.empty() ? Json(nullptr) : Json(r.weights_sha256)}};
  if (!r.problem.empty()) {
    v["reason"] = r.problem;
    b.values["models"].push_back(v);
    b.table.rows.push_back({name, "not valid", "", "", "", "", "", ""});
    b.notes.push_back(fmt::format("{}: not valid: {}", name, r.problem));
    return;
  }
  const Rate p = rate_of(r.prefill), d = rate_of(r.decode);
  const def::AgentTask task = def::agent_task(args.turns, p.mean, d.mean, args.tools_s, std::nullopt);
  const bool energy = r.joules > 0 && r.joule_tokens > 0;
  v["prefill"] = p.mean, v["prefill_ci"] = {p.low, p.high};
  v["decode"] = d.mean, v["decode_ci"] = {d.low, d.high};
  v["lower_bound"] = r.lower_bound, v["n"] = p.n;
  v["j_per_token"] = energy ? Json(r.joules / r.joule_tokens) : Json(nullptr);
  v["memory_bytes"] = r.memory ? Json(*r.memory) : Json(nullptr);
  v["task_s"] = task.model_s, v["prompt_share"] = task.prompt_share;
  std::string joules = "–";
  v["task_j"] = nullptr;
  if (energy) {
    const def::TaskEnergy e = def::task_energy(total(args.turns, &def::Turn::tokens_in),
                                               total(args.turns, &def::Turn::tokens_out), p.mean, d.mean, r.watts);
    v["task_j"] = e.joules;
    joules = fmt::format("{:.3g}", e.joules);
  }
  b.values["models"].push_back(v);
  b.table.rows.push_back({name, text_of(p, r.lower_bound), text_of(d, false),
                          energy ? fmt::format("{:.3g}", r.joules / r.joule_tokens) : "–",
                          r.memory ? fmt::format("{:.0f}", double(*r.memory) / 1e6) : "–",
                          fmt::format("{:.2f}", task.model_s), fmt::format("{:.0f} %", 100 * task.prompt_share),
                          joules});
}

// Where the slower of two models at the prompt wins by its answer.
void add_overtaking(const std::vector<MenuRow>& rows, Block& b) {
  b.values["overtake"] = Json::array();
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = i + 1; j < rows.size(); ++j) {
      if (!rows[i].problem.empty() || !rows[j].problem.empty()) continue;
      const std::optional<double> ratio =
          def::overtake_ratio(rate_of(rows[i].prefill).mean, rate_of(rows[i].decode).mean,
                              rate_of(rows[j].prefill).mean, rate_of(rows[j].decode).mean);
      if (!ratio) continue;
      const bool i_reads_faster = rate_of(rows[i].prefill).mean > rate_of(rows[j].prefill).mean;
      const std::string reader = name_of_model(rows[i_reads_faster ? i : j].model),
                        writer = name_of_model(rows[i_reads_faster ? j : i].model);
      b.values["overtake"].push_back({{"reader", reader}, {"writer", writer}, {"out_per_in", *ratio}});
      b.notes.push_back(fmt::format("{} overtakes {} when there are more than {:.3g} output tokens per input token",
                                    writer, reader, *ratio));
    }
}

std::string verdict_of(const MenuArgs& args, const std::vector<MenuRow>& rows) {
  const MenuRow* best = nullptr;
  double least = 0;
  for (const MenuRow& r : rows) {
    if (!r.problem.empty()) continue;
    const double s =
        def::agent_task(args.turns, rate_of(r.prefill).mean, rate_of(r.decode).mean, args.tools_s, std::nullopt)
            .model_s;
    if (!best || s < least) best = &r, least = s;
  }
  if (!best) return "";
  if (rows.size() == 1)
    return fmt::format("the task of {:.0f} tokens in and {:.0f} out takes {:.2f} s by the rates",
                       total(args.turns, &def::Turn::tokens_in), total(args.turns, &def::Turn::tokens_out), least);
  return fmt::format("the task of {:.0f} tokens in and {:.0f} out takes least time, {:.2f} s, with {}",
                     total(args.turns, &def::Turn::tokens_in), total(args.turns, &def::Turn::tokens_out), least,
                     name_of_model(best->model));
}

}  // namespace

std::vector<def::Turn> parse_turns(const std::string& text) {
  std::vector<def::Turn> turns;
  std::stringstream all(text);
  for (std::string part; std::getline(all, part, ',');) {
    double in = 0, out = 0;
    char colon = 0, rest = 0;
    std::istringstream one(part);
    if (!(one >> in >> colon >> out) || colon != ':' || one >> rest ||
        !(in >= 0 && in <= 1e9 && out >= 0 && out <= 1e9))
      fail(ErrorCode::Usage, "--turns: \"{}\" is not IN:OUT, tokens of a turn; for instance 2000:25,1000:250", part);
    turns.push_back({in, out});
  }
  if (turns.empty() || total(turns, &def::Turn::tokens_in) + total(turns, &def::Turn::tokens_out) == 0)
    fail(ErrorCode::Usage, "--turns: no tokens; expected IN:OUT, for instance 2000:25,1000:250");
  return turns;
}

Block menu_block(const MenuArgs& args, const std::vector<MenuRow>& rows, const std::string& why_no_energy) {
  Block b{.name = "menu", .title = "Models side by side"};
  b.table.columns = {"model",
                     fmt::format("read tok/s (pp{})", args.prompt),
                     fmt::format("write tok/s (tg{})", args.gen),
                     "J/token",
                     "memory MB",
                     "task s",
                     "of it the prompt",
                     "task J"};
  b.values["models"] = Json::array();
  for (const MenuRow& r : rows) add_model(args, r, b);
  if (std::all_of(rows.begin(), rows.end(), [](const MenuRow& r) { return !r.problem.empty(); })) {
    b.not_valid = rows.size() == 1 ? rows[0].problem
                                   : "no model could be measured; " + fmt::format("{}", fmt::join(b.notes, "; "));
    b.notes.clear(), b.table = {};
    return b;
  }
  b.verdict = verdict_of(args, rows);
  add_overtaking(rows, b);
  if (!why_no_energy.empty()) b.notes.push_back("no J/token: " + why_no_energy);
  b.notes.push_back(std::string("±: half of the 95 % interval of the mean") +
                    (rows.size() > 1 ? "; models were measured one at a time, in order and in reverse" : ""));
  b.notes.push_back("the task's time follows from the two rates at an empty context; longer contexts cost more");
  return b;
}

MenuRow measure_menu_row(const MenuArgs& args, const std::string& model, EnergyMeter& energy, Output& output,
                         const OpenTarget& open) {
  MenuRow row{.model = model};
  row.memory = memory_of(args, model);
  measure_model(args, args.rounds, 0, energy, open, row, output);
  require_quiet(args, row);
  return row;
}

void run_menu(const MenuArgs& args, Output& output, const OpenTarget& open) {
  EnergyMeter energy;
  MachineTrack machine;
  std::vector<MenuRow> rows(args.models.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i].model = args.models[i];
  for (int pass = 0; pass < 2; ++pass) {
    const int rounds = pass == 0 ? (args.rounds + 1) / 2 : args.rounds / 2;
    for (size_t k = 0; k < rows.size() && rounds > 0; ++k) {
      MenuRow& row = rows[pass == 0 ? k : rows.size() - 1 - k];
      if (!row.problem.empty()) continue;
      try {
        if (pass == 0) row.memory = memory_of(args, row.model);
        measure_model(args, rounds, pass == 0 ? 0 : args.rounds - rounds, energy, open, row, output);
      } catch (const Error& e) {
        if (e.code() == ErrorCode::Interrupted || e.code() == ErrorCode::Usage) throw;
        row.problem = e.what();
      }
    }
    if (pass == 0) machine.middle();
  }
  machine.end();
  for (MenuRow& row : rows) require_quiet(args, row);
  output.block(menu_block(args, rows, energy.sources().empty() ? energy.why_not() : ""));
  output.block(machine_block(machine));
}

}  // namespace tally::lab
