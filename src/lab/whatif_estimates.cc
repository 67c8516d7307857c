// What-if questions that need no code change: roofline, batching, speculation, tokenizer, latency, energy, agent tasks
// (M15–M21).
#include <fmt/format.h>

#include "base/error.h"
#include "lab/def_agent.h"
#include "lab/def_batching.h"
#include "lab/def_roofline.h"
#include "lab/def_thermal.h"
#include "lab/whatif.h"

namespace tally::lab {

namespace {

void roofline(const VectorArgs& in, WhatIf& w) {
  double peak_gb = in.number({"peak_gb_s"});
  if (in.has({"gib"})) {  // decode: the weights once a token
    double gb = def::decode_gb_s(in.number({"gib"}), in.number({"tok_s"}));
    bool bound = gb / peak_gb >= 0.5;
    w.block.values = {{"gb_s", gb}, {"share_of_bandwidth", gb / peak_gb}, {"bandwidth_bound", bound}};
    w.block.verdict = fmt::format("decode reads {:.1f} GB/s, {:.0f} % of {:.0f}: {}", gb, 100 * gb / peak_gb, peak_gb,
                                  bound ? "bandwidth-bound" : "not bandwidth-bound");
    if (!bound && in.has({"claimed_bound"}) && in.need({"claimed_bound"}) == "bandwidth")
      w.complaints.push_back("said to follow the bandwidth, but far below it");
    return;
  }
  double bytes = in.has({"bits"}) ? def::weight_bytes(in.number({"m"}), in.number({"k"}), in.number({"bits"})) *
                                        in.number_or({"times"}, 1)
                                  : in.number({"bytes"});
  double work =
      in.has({"gflop"}) ? in.number({"gflop"}) : def::gflop(in.number({"m"}), in.number({"n"}), in.number({"k"}));
  def::Position p = def::position(bytes, work, in.number({"ms"}), peak_gb, in.number({"peak_tflop_s"}));
  w.block.values = {{"bytes", p.bytes},
                    {"gflop", p.gflop},
                    {"gb_s", p.gb_s},
                    {"tflop_s", p.tflop_s},
                    {"share_of_bandwidth", p.share_of_bandwidth},
                    {"share_of_arithmetic", p.share_of_arithmetic},
                    {"read_ms", def::read_time_ms(bytes, 1, peak_gb)}};
  w.block.verdict = p.words;
  if (p.impossible) w.complaints.push_back("above a peak of the machine");
}

void batch(const VectorArgs& in, WhatIf& w) {
  if (in.has({"b1"})) {
    def::BatchAffine a = def::batch_affine(in.number({"b1"}), in.number({"r1"}), in.number({"b2"}), in.number({"r2"}));
    w.block.values = {{"fixed_ms", a.fixed_ms},
                      {"per_seq_ms", a.per_seq_ms},
                      {"ceiling_tok_s", a.ceiling_tok_s},
                      {"fixed_over_per_seq", a.fixed_over_per_seq}};
    w.block.table.columns = {"sequences", "total tok/s", "each tok/s"};
    for (double b : {1., 2., 4., 8., 16., 32.})
      w.block.table.rows.push_back(
          {fmt::format("{:.0f}", b), fmt::format("{:.1f}", a.rate(b)), fmt::format("{:.1f}", a.rate(b) / b)});
    w.block.verdict = a.words;
    return;
  }
  def::BatchBytes bytes{in.number({"shared"}), in.number_or({"state"}, 0), in.number_or({"bytes_per_expert"}, 0),
                        in.number_or({"experts"}, 0), in.number_or({"active"}, 0)};
  double b = in.number({"b", "batch"});
  def::BatchEstimate e = def::batch_gain(bytes, b, in.number_or({"util_1"}, 1), in.number_or({"util_b"}, 1));
  w.block.values = {{"bytes_factor", e.bytes_factor}, {"utilisation_factor", e.utilisation_factor}, {"gain", e.gain}};
  if (bytes.n_experts > 0) {
    w.block.values["experts_touched"] = def::experts_touched(bytes.n_experts, bytes.experts_per_token, b);
    w.block.values["expert_sharing"] = def::expert_sharing(bytes.n_experts, bytes.experts_per_token, b);
  }
  w.block.verdict =
      fmt::format("{:.0f} sequences at once: {:.2f} times the total rate (bytes {:.2f}, utilisation {:.2f})", b, e.gain,
                  e.bytes_factor, e.utilisation_factor);
}

void add_speculation_row(const def::Speculation& s, WhatIf& w) {
  w.block.table.rows.push_back({fmt::format("{}", s.k), fmt::format("{:.2f}", s.cost), fmt::format("{:.2f}", s.best),
                                s.never_pays ? "never" : fmt::format("{:.2f}", s.break_even_tokens),
                                s.never_pays ? "never" : fmt::format("{:.2f}", s.break_even_alpha)});
  w.block.values["rows"].push_back({{"k", s.k},
                                    {"cost", s.cost},
                                    {"best", s.best},
                                    {"never_pays", s.never_pays},
                                    {"break_even_alpha", s.break_even_alpha}});
}

void speculate(const VectorArgs& in, WhatIf& w) {
  w.block.table.columns = {"drafts", "cost of a round", "at best", "pays above tokens a round", "acceptance"};
  w.block.values = {{"rows", Json::array()}};
  bool any = false;
  if (in.has({"w"})) {
    std::vector<double> width = in.list({"w"}), v = in.list({"v"});
    if (width.size() != v.size() || width.empty() || width[0] != 1)
      fail(ErrorCode::BadInput, "speculate: w and v need one entry each, the first for w = 1");
    double draft = in.number_or({"draft"}, 0), other = in.number_or({"other"}, 0);
    for (size_t i = 1; i < width.size(); ++i) {
      if (!(width[i] >= 2 && width[i] <= 1025))
        fail(ErrorCode::BadInput, "speculate: width {}; 2…1025 expected", width[i]);
      int k = static_cast<int>(width[i]) - 1;
      def::Speculation s = def::speculation(k, def::speculation_cost(k, v[i], draft, other, v[0]));
      any = any || !s.never_pays;
      add_speculation_row(s, w);
    }
  } else {
    double full = in.number({"gain_at_full_acceptance"});
    for (int k = 1; k <= in.whole_or({"k"}, 4); ++k) {
      def::Speculation s = def::speculation(k, def::cost_from_full_acceptance(k, full));
      any = any || !s.never_pays;
      add_speculation_row(s, w);
    }
    if (in.has({"gain"})) {
      double y = def::speculation_yield(in.number({"gain"}), full);
      w.block.values["yield"] = y;
      w.block.notes.push_back(fmt::format("tokens a round over k + 1: {:.3f}", y));
    }
  }
  w.block.verdict = any ? "can pay: see the acceptance that each number of drafts needs"
                        : "cannot pay, even with every draft accepted";
}

void tokenizer(const VectorArgs& in, WhatIf& w) {
  std::optional<double> rate;
  if (in.has({"rate"})) rate = in.number({"rate"});
  def::TokenizerVerdict v = def::tokenizer_verdict(in.number({"call_ms"}), in.number({"s", "speed_up"}), rate);
  w.block.values = {{"saved_share", v.saved_share},
                    {"old_ms", v.old_ms ? Json(*v.old_ms) : Json(nullptr)},
                    {"length", v.length ? Json(*v.length) : Json(nullptr)}};
  w.block.verdict = v.words;
}

void latency(const VectorArgs& in, WhatIf& w) {
  def::LessThanOneCall l = def::less_than_one_call("tokens", in.number({"tokens", "count"}),
                                                   in.number({"unit_ms", "ms_per_token"}), in.number({"call_ms"}));
  w.block.values = {{"calls", l.calls}, {"less_than_one_call", l.less}, {"threshold_us", 1000 * l.threshold_unit_ms}};
  w.block.verdict = l.words;
  if (const Json* said = in.find({"claimed_less"}); said && said->is_boolean() && said->get<bool>() != l.less)
    w.complaints.push_back(
        "the claim about one call holds on another machine or cache state, not with this cost per token");
}

void energy(const VectorArgs& in, WhatIf& w) {
  std::vector<double> rate = in.list({"decode"}), joules = in.list({"j_per_token"});
  if (rate.size() != joules.size() || rate.empty())
    fail(ErrorCode::BadInput, "energy: decode and j_per_token need one entry each");
  w.block.table.columns = {"decode tok/s", "J/token", "W"};
  double low = 1e300, high = 0;
  Json watts = Json::array();
  for (size_t i = 0; i < rate.size(); ++i) {
    double x = def::implied_watts(rate[i], joules[i]);
    low = std::min(low, x), high = std::max(high, x);
    watts.push_back(x);
    w.block.table.rows.push_back(
        {fmt::format("{:.1f}", rate[i]), fmt::format("{:.1f}", joules[i]), fmt::format("{:.1f}", x)});
  }
  w.block.values = {{"watts", watts}, {"spread", high / low}};
  w.block.verdict =
      high / low < 1.25
          ? fmt::format("power is nearly constant ({:.0f}…{:.0f} W): J/token mostly repeats 1/rate", low, high)
          : fmt::format("power differs ({:.0f}…{:.0f} W)", low, high);
  if (!in.has({"prefill"})) return;
  std::vector<double> prefill = in.list({"prefill"});
  if (prefill.size() != rate.size()) fail(ErrorCode::BadInput, "energy: prefill needs one entry a model");
  w.block.table.columns.push_back("kJ a task");
  w.block.values["task_kj"] = Json::array();
  for (size_t i = 0; i < rate.size(); ++i) {
    def::TaskEnergy t =
        def::task_energy(in.number({"in"}), in.number({"out"}), prefill[i], rate[i], watts[i].get<double>());
    w.block.values["task_kj"].push_back(t.joules / 1000);
    w.block.table.rows[i].push_back(fmt::format("{:.1f}", t.joules / 1000));
  }
  w.block.notes.push_back("energy of a task: the same mean power is assumed in both phases");
}

void agent(const VectorArgs& in, WhatIf& w) {
  std::vector<double> tokens_in = in.list({"in"}), tokens_out = in.list({"out"});
  if (tokens_in.size() != tokens_out.size()) fail(ErrorCode::BadInput, "agent: in and out need one entry a turn");
  std::vector<def::Turn> turns;
  double out = 0;
  for (size_t i = 0; i < tokens_in.size(); ++i) turns.push_back({tokens_in[i], tokens_out[i]}), out += tokens_out[i];
  std::optional<double> wall;
  if (in.has({"wall"})) wall = in.number({"wall"});
  double decode = in.number({"decode"}), tools = in.number_or({"tools"}, 0);
  def::AgentTask t = def::agent_task(turns, in.number({"prefill"}), decode, tools, wall);
  w.block.values = {{"model_s", t.model_s},
                    {"prompt_share", t.prompt_share},
                    {"residual_s", t.residual_s ? Json(*t.residual_s) : Json(nullptr)}};
  w.block.verdict = t.words;
  if (wall && in.has({"reference_out"}))
    w.block.values["length_normalised_s"] = def::length_normalised_s(*wall, out, in.number({"reference_out"}), decode);
}

void overtake(const VectorArgs& in, WhatIf& w) {
  std::optional<double> r = def::overtake_ratio(in.number({"prefill1"}), in.number({"decode1"}),
                                                in.number({"prefill2"}), in.number({"decode2"}));
  w.block.values = {{"out_per_in", r ? Json(*r) : Json(nullptr)}};
  w.block.verdict =
      r ? fmt::format("the second model overtakes the first above {:.1f} output tokens per input token", *r)
        : "one of them is faster at both: nothing is overtaken";
}

}  // namespace

void add_whatif_estimates(WhatIfTable& t) {
  t["roofline"] = {"Bandwidth and arithmetic (M15)",
                   "gib=GIB tok_s=RATE peak_gb_s=N, or m=N n=N k=N bits=N [times=N] (or bytes= gflop=) ms=MS "
                   "peak_gb_s=N peak_tflop_s=N",
                   roofline};
  t["batch"] = {"Batching (M16)",
                "b1=N r1=TOK/S b2=N r2=TOK/S, or b=N shared=BYTES [state=BYTES] [experts=N active=N "
                "bytes_per_expert=N] [util_1= util_b=]",
                batch};
  t["speculate"] = {"Speculation (M17)",
                    "w=1,… v=MS,… [draft=MS] [other=MS], or gain_at_full_acceptance=X [k=N] [gain=X]", speculate};
  t["tokenizer"] = {"Tokenizer break-even (M18)", "call_ms=MS s=SPEEDUP [rate=UNITS/S]", tokenizer};
  t["latency"] = {"Less than one call? (M19)", "tokens=N unit_ms=MS call_ms=MS", latency};
  t["energy"] = {"Energy (M20)", "decode=TOK/S,… j_per_token=J,… [prefill=TOK/S,… in=N out=N]", energy};
  t["agent"] = {"Agent task (M21)", "in=N,… out=N,… prefill=TOK/S decode=TOK/S [tools=S] [wall=S [reference_out=N]]",
                agent};
  t["overtake"] = {"When the second model overtakes (M21)", "prefill1= decode1= prefill2= decode2=", overtake};
}

}  // namespace tally::lab
