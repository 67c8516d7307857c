#include "lab/speculate_acceptance.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "app/tokenizer_from_gguf.h"
#include "base/clock.h"
#include "base/error.h"
#include "lab/def_batching.h"
#include "lab/stats.h"
#include "lab/stats_bootstrap.h"
#include "runtime/generate.h"

namespace tally::lab {

namespace {

constexpr const char* kProse =
    "The old clockmaker opened his shop at eight, as he had done every morning for forty years. He took the shutters "
    "down, swept the step, and wound the tall clock by the door. Then he sat at the window with his first cup of tea "
    "and "
    "waited for the street to wake. A girl came in with a watch that had stopped. It had belonged to her grandfather, "
    "she said, and she wanted to know whether it could be mended. He held it to his ear, opened the case, and";

struct Text {
  std::string kind;
  std::vector<int32_t> ids;
};

std::vector<Text> texts_of(Probe& probe, const SpeculateOptions& o, std::string* why_no_prose) {
  std::vector<Text> out;
  const gguf::Metadata& meta = probe.file().metadata();
  if (app::has_tokenizer(meta))
    out.push_back({"prose", app::tokenizer_from_gguf(meta).encode(o.text.empty() ? kProse : o.text, true, false)});
  else
    *why_no_prose = "the model has no tokenizer, so there is no prose";
  out.push_back({"random", probe.random_ids(96, 11)});
  return out;
}

struct Generated {
  runtime::GenerateStats stats;
  std::vector<int32_t> tokens;
  double ms = 0;  // decoding alone
};

Generated generate(Probe& probe, const std::vector<int32_t>& prompt, int n) {
  Generated g;
  runtime::GenerateSettings settings;
  settings.n_predict = n, settings.ignore_stop_ids = true;
  runtime::Sequence s = probe.engine().open();
  runtime::generate(
      probe.engine(), s, prompt, settings,
      [&](int32_t token) {
        g.tokens.push_back(token);
        return true;
      },
      &g.stats);
  g.ms = double(g.stats.decode_ns) * 1e-6;
  probe.engine().close(s);
  return g;
}

// A single draft step of the block after `prompt`, and the verifying forward over k + 1 positions, in ms.
struct Parts {
  double draft_ms = 0, verify_ms = 0, plain_ms = 0;
};

Parts parts_of(Probe& probe, const std::vector<int32_t>& prompt, int k, int rounds) {
  runtime::Engine& e = probe.engine();
  std::vector<double> draft, verify, plain;
  const int first = 0;
  for (int i = 0; i <= rounds; ++i) {
    runtime::Sequence s = e.open();
    e.consume(s, prompt, {}, nullptr);
    std::vector<int32_t> ids = probe.random_ids(k + 2, 13);
    std::vector<float> input = s.last_hidden;
    e.reserve(s, size_t(k) + 2);
    auto time = [&](std::vector<double>& list, const std::function<void()>& body) {
      uint64_t begin = now_ns();
      body();
      if (i > 0) list.push_back(double(now_ns() - begin) * 1e-6);  // the first round warms
    };
    time(draft, [&] { e.step_mtp(s, int(s.tokens.size()), {&ids[0], 1}, input.data(), {&first, 1}, nullptr); });
    time(plain, [&] {
      runtime::Segment one{&s, {&ids[0], 1}, {0}, {}};
      e.step({&one, 1});
    });
    runtime::Segment segment{&s, {&ids[1], size_t(k) + 1}, {}, {}};
    for (int j = 0; j <= k; ++j) {
      segment.outputs.push_back(j);
      segment.checkpoints.push_back(j < k ? s.spare_slots[j] : -1);
    }
    time(verify, [&] { e.step({&segment, 1}); });
    e.close(s);
  }
  return {stats::quantile(draft, 0.5), stats::quantile(verify, 0.5), stats::quantile(plain, 0.5)};
}

struct Case {
  std::string kind;
  int k = 0;
  Generated drafted, alone;
  std::vector<double> ratios;  // plain / drafting, per round
  Parts parts;
};

void add_case(const Case& c, Block& b) {
  double rounds = c.drafted.stats.n_steps, accepted = c.drafted.stats.n_accepted;
  double e = def::tokens_per_round(accepted, rounds);
  double per_draft = c.drafted.stats.n_drafted > 0 ? accepted / c.drafted.stats.n_drafted : 0;
  double cost = def::speculation_cost(c.k, c.parts.verify_ms, c.parts.draft_ms, 0, c.parts.plain_ms);
  // The last round of a generation drafts fewer tokens, so E may exceed no bound but k + 1.
  double alpha = def::alpha_for(std::clamp(e, 1.0, c.k + 1.0), c.k);
  stats::RatioInterval r = stats::bootstrap_ratio(c.ratios);
  b.table.rows.push_back({c.kind, fmt::format("{}", c.k), fmt::format("{:.1f} %", 100 * per_draft),
                          fmt::format("{:.1f} %", 100 * alpha), fmt::format("{:.3f}", e), fmt::format("{:.3f}", cost),
                          fmt::format("{:.3f}", e / cost), fmt::format("{:.3f}", r.geometric_mean),
                          fmt::format("{:.3f} to {:.3f}", r.interval.low, r.interval.high)});
  b.values["cases"].push_back({{"text_kind", c.kind},
                               {"drafts", c.k},
                               {"drafted", c.drafted.stats.n_drafted},
                               {"accepted", c.drafted.stats.n_accepted},
                               {"rounds", c.drafted.stats.n_steps},
                               {"accepted_per_draft", per_draft},
                               {"acceptance_per_position", alpha},
                               {"tokens_per_round", e},
                               {"draft_step_ms", c.parts.draft_ms},
                               {"verify_ms", c.parts.verify_ms},
                               {"plain_ms", c.parts.plain_ms},
                               {"cost", cost},
                               {"speed_up_foreseen", e / cost},
                               {"speed_up", r.geometric_mean},
                               {"speed_up_ci", {r.interval.low, r.interval.high}},
                               {"n", r.n}});
}

std::vector<Case> measure(const app::EngineArgs& args, const SpeculateOptions& o, int k, Block& b, Output& out) {
  app::EngineArgs with = args, without = args;
  with.options.n_draft = k, without.options.n_draft = 0;
  Probe drafting(with, 1024 + o.n_gen, 1, o.seed), plain(without, 1024 + o.n_gen, 1, o.seed);
  drafting.max_spread = o.max_spread;
  std::string why;
  std::vector<Case> cases;
  for (const Text& text : texts_of(drafting, o, &why)) {
    Case c{.kind = text.kind,
           .k = k,
           .drafted = generate(drafting, text.ids, o.n_gen),
           .alone = generate(plain, text.ids, o.n_gen),
           .ratios = {},
           .parts = {}};
    if (c.drafted.tokens != c.alone.tokens && b.not_valid.empty())
      b.not_valid = fmt::format("{}: drafting {} tokens gives other text than plain decoding", text.kind, k);
    std::vector<std::vector<double>> ms = alternate(
        {"plain", fmt::format("{} drafts", k)}, o.rounds,
        [&](int v) { return generate(v == 0 ? plain : drafting, text.ids, o.n_gen).ms; },
        fmt::format("{} {}", b.name, text.kind), out);
    for (int v = 0; v < 2 && b.not_valid.empty(); ++v) b.not_valid = drafting.not_usable(ms[v]);
    for (size_t i = 0; i < ms[0].size(); ++i) c.ratios.push_back(ms[0][i] / ms[1][i]);
    c.parts = parts_of(drafting, text.ids, k, o.rounds);
    cases.push_back(c);
  }
  if (!why.empty()) b.notes.push_back(why);
  return cases;
}

}  // namespace

Block acceptance_block(const app::EngineArgs& args, const SpeculateOptions& o, Output& out) {
  Block b{.name = "speculate.acceptance", .title = "What the model's own draft block achieves"};
  if (!app::has_mtp(args)) {
    b.not_valid = "the model has no draft block (multi-token prediction), so there is no acceptance to measure";
    return b;
  }
  std::vector<Case> cases;
  for (int k : std::set<int>(o.drafts.begin(), o.drafts.end()))
    for (Case& c : measure(args, o, k, b, out)) cases.push_back(std::move(c));
  if (!b.not_valid.empty()) return b;
  b.table.columns = {"text",     "drafts", "accepted of drafted", "per position", "tokens a round", "cost", "foreseen",
                     "measured", "95 %"};
  b.values["cases"] = Json::array();
  for (const Case& c : cases) add_case(c, b);
  b.notes.push_back(
      "greedy; accepted of drafted: verified drafts that were right; per position: the independent "
      "acceptance that gives these tokens a round; cost: (verify + drafts) / plain step, foreseen: tokens a "
      "round over cost");
  b.notes.push_back("the same tokens with and without drafting: required, and so");
  return b;
}

}  // namespace tally::lab
