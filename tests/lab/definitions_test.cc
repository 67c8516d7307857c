// Examples of the definitions that are worked out in the text, and every refusal.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "lab/def_agent.h"
#include "lab/def_amdahl.h"
#include "lab/def_batching.h"
#include "lab/def_bisect.h"
#include "lab/def_dispatch.h"
#include "lab/def_fit.h"
#include "lab/def_percent.h"
#include "lab/def_roofline.h"
#include "lab/def_thermal.h"

namespace tally::lab::def {
namespace {

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Ceilings, m1_to_m3) {
  EXPECT_NEAR(amdahl(0.0532, 67.87), 1.0553, 1e-4);
  EXPECT_EQ(amdahl(1, kInfinite), kInfinite);
  EXPECT_THROW(amdahl(1.01, 2), Error);
  EXPECT_THROW(amdahl(-0.01, 2), Error);
  EXPECT_THROW(amdahl(0.5, 0), Error);
  EXPECT_THROW(amdahl(NAN, 2), Error);
  const double p[] = {0.1218, 0.0979, 0.0532, 0.0519, 0.043, 0.0279, 0.014};
  KnownFree k = known_free(p, 96.7, 843.74);
  EXPECT_NEAR(k.best_rate, 163.8, 0.05);
  EXPECT_NEAR(k.missing, 5.15, 0.005);
  EXPECT_FALSE(k.reachable);
  EXPECT_TRUE(says(k.words, "unreachable by kernels"));
  EXPECT_TRUE(known_free(p, 96.7, 160).reachable);
  const double over[] = {0.6, 0.5};
  EXPECT_THROW(known_share(over), Error);
  const double known[] = {2970.6};
  Unattributed u = unattributed(7250.8, known, 5294.7);
  EXPECT_NEAR(u.ms, 4280.2, 1e-9);
  EXPECT_NEAR(*u.overhead, 1.369, 1e-3);
  EXPECT_TRUE(u.shares_warned);
  EXPECT_FALSE(unattributed(7250.8, known, 7000).shares_warned);
  const double too_much[] = {8000};
  EXPECT_TRUE(unattributed(7250.8, too_much, {}).double_counted);
}

TEST(Dispatches, m4_and_m5) {
  const double n[] = {8, 16, 32}, d[] = {8280, 16520, 33000}, flat[] = {40, 40, 40}, chunky[] = {8280, 16530, 33000};
  DispatchSlope s = dispatch_slope(n, d, 40);
  EXPECT_DOUBLE_EQ(s.per_layer_token, 25.75);
  EXPECT_EQ(s.verdict, SlopeVerdict::HostLoop);
  EXPECT_FALSE(s.other_dependence);
  EXPECT_EQ(dispatch_slope(n, flat, 0).verdict, SlopeVerdict::InsideTheKernel);
  EXPECT_TRUE(dispatch_slope(n, chunky, 0).other_dependence);
  EXPECT_THROW(dispatch_slope(std::span(n).first(2), std::span(d).first(2), 0), Error);
  const double repeated[] = {8, 16, 16};
  EXPECT_THROW(dispatch_slope(repeated, d, 0), Error);
  DispatchCost c = dispatch_cost(486400, 4280.2, 7250.8, 3.1);
  EXPECT_NEAR(c.upper_us, 8.80, 0.005);
  EXPECT_NEAR(c.explained_ms, 1507.84, 0.01);
  EXPECT_NEAR(c.explained_share, 0.208, 5e-4);
  EXPECT_NEAR(c.remainder_ms, 2772.4, 0.1);
  EXPECT_NEAR(c.ceiling_lower, 1.2626, 1e-3);
  EXPECT_NEAR(c.ceiling_upper, 2.44, 5e-3);
  EXPECT_FALSE(dispatch_cost(1000, 1, 100, 5).consistent);
  const double extra[] = {0, 832}, host[] = {4.60, 5.11};
  EXPECT_NEAR(injection_us(extra, host), 0.61, 0.005);
}

TEST(Fits, m6_to_m8) {
  const Point before[] = {{32, 129.8}, {128, 257.5}, {512, 636.4}, {2048, 2050.7}};
  const Point after[] = {{2048, 6869.0}, {32, 223.9}, {512, 1836.6}, {128, 610.2}};
  CostFit f = fit_cost(before);
  EXPECT_NEAR(f.two_point.fixed_ms, 164.97, 0.01);
  EXPECT_EQ(f.two_point.from_n, 512);
  EXPECT_NEAR(f.squares->per_token_ms, 0.942, 5e-4);
  EXPECT_NEAR(f.squares->fixed_ms, 128.0, 0.05);
  EXPECT_NEAR(fit_cost(after).squares->fixed_ms, 154.8, 0.05);
  HeldOut h = held_out(f.two_point, std::span(before).first(2));
  EXPECT_EQ(h.valid_from, 128);
  EXPECT_TRUE(says(h.words, "invalid below 128")) << h.words;
  Slowdown s = slowdown(before, after);
  EXPECT_EQ(s.shape, Shape::PerToken);
  EXPECT_NEAR(s.extra_ms[0], 2.694, 5e-4);
  EXPECT_NEAR(s.extra_ms[1], 2.207, 5e-4);
  EXPECT_NEAR(s.extra_ms[2], 2.356, 5e-4);
  EXPECT_NEAR(s.fixed_change_ms, -5.8, 0.05);
  const Point more_fixed[] = {{32, 329.8}, {128, 457.5}, {512, 836.4}, {2048, 2250.7}};
  EXPECT_EQ(slowdown(before, more_fixed).shape, Shape::Fixed);
  EXPECT_EQ(slowdown(before, before).shape, Shape::NoSlowdown);
  CostLine other = two_point(509, 649.4, 1488, 1692.3);
  EXPECT_NEAR(*crossing(other, f.two_point), 400, 0.5);
  EXPECT_FALSE(crossing(f.two_point, f.two_point).has_value());
  EXPECT_EQ(lower_bound_words(509, 649.4), "≥ 783.8 tok/s");
  EXPECT_THROW(two_point(512, 600, 1000, 900), Error);
  EXPECT_THROW(two_point(512, 600, 2048, 590), Error);
  EXPECT_THROW(fit_cost(std::span(before).first(1)), Error);
  EXPECT_THROW(slowdown(before, std::span(after).first(3)), Error);
}

TEST(Bisecting, m9_names_steps_one_and_four) {
  const double x[] = {850, 807, 807, 804, 279, 275, 279};
  std::vector<VersionRate> versions, decode;
  for (int i = 0; i < 7; ++i) {
    std::string name = fmt::format("0.2.{}", i);
    versions.push_back({name, x[i], 4, i == 0 ? "earlier" : "now", "abc"});
    decode.push_back({name, i < 4 ? 96.2 : 92.8, 2, "", ""});
  }
  Bisect b = bisect(versions, "prefill");
  EXPECT_NEAR(b.steps[3].d, -1.058, 5e-4);
  EXPECT_NEAR(b.steps[0].d, -0.052, 5e-4);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(b.steps[i].flagged, i == 0 || i == 3) << i;
  EXPECT_EQ(b.worst, 3);
  EXPECT_FALSE(b.steps[0].paired);
  EXPECT_TRUE(says(b.steps[0].words, "not paired"));
  EXPECT_TRUE(says(bisect_words(b, bisect(decode, "decode")), "decode alone would have let this pass"));
  EXPECT_EQ(bisect_runs(6), 3);
  EXPECT_EQ(bisect_runs(1), 0);
  versions[5].weights_sha256 = "other";
  EXPECT_THROW(bisect(versions, "prefill"), Error);
  EXPECT_THROW(bisect(std::span(versions).first(1), "prefill"), Error);
  const VersionRate unknown[] = {{"a", 850, {}, "", ""}, {"b", 279, 4, "", ""}};
  EXPECT_FALSE(bisect(unknown, "prefill").steps[0].flagged);
}

TEST(Ablating, m10_positive_control) {
  const Ablation dead[] = {{"experts", 634.4, 0.12}, {"attention", 636.4, 0.05}};
  AblationSession s = ablate(636.4, 2, dead);
  EXPECT_FALSE(s.valid);
  EXPECT_NEAR(s.rows[0].effectiveness, 0.026, 5e-4);
  EXPECT_TRUE(says(s.words, "switch dead"));
  const Ablation live[] = {{"experts", 560, 0.12}}, light[] = {{"norm", 600, 0.05}};
  EXPECT_TRUE(ablate(636.4, 2, live).valid);
  EXPECT_FALSE(ablate(636.4, 40, live).valid);  // within 3σ
  EXPECT_TRUE(says(ablate(636.4, 1, light).words, "no positive control"));
  EXPECT_THROW(ablate(636.4, 1, {}), Error);
  BestOf single = best_of(279, 283.6, 13, 4, 1), mean = best_of(279, 283.6, 13, 4, 5);
  EXPECT_NEAR(single.expected_best, 285.7, 0.05);
  EXPECT_NEAR(mean.expected_best, 282.0, 0.05);
  EXPECT_FALSE(single.shown);
  EXPECT_TRUE(mean.shown);
}

TEST(Ranks, m12_ties) {
  EXPECT_NEAR(separation(72.2, 0, 61.3, 10.5), 1.038, 1e-3);
  EXPECT_THROW(separation(1, 0, 2, 0), Error);
  const RankItem items[] = {{"a", 61.3, 10.5, 5}, {"b", 72.2, 0, 1}, {"c", 20, 0.5, 5}};
  std::vector<RankRow> r = rank(items);
  EXPECT_EQ(r[0].name, "b");
  EXPECT_TRUE(r[0].tie_with_next);
  EXPECT_EQ(r[1].rank, 1);
  EXPECT_FALSE(r[1].tie_with_next);
  EXPECT_EQ(r[2].rank, 3);
  const RankItem unknown[] = {{"a", 10, 0, 1}, {"b", 20, 0, 1}};
  EXPECT_TRUE(rank(unknown)[0].tie_with_next);
}

TEST(Thermal, m13_and_m20) {
  Sustained s = sustained(979, 850, 3000, 2604.7);
  EXPECT_NEAR(s.ratio, 0.868, 5e-4);
  EXPECT_TRUE(s.thermal);
  EXPECT_FALSE(sustained(979, 700, 3000, 2604.7).thermal);
  EXPECT_THROW(sustained(0, 1, 1, 1), Error);
  ColdAndSustained c = compare_sustained(979, 850, 1017, 984);
  EXPECT_NEAR(c.steady, 1.158, 5e-4);
  EXPECT_NEAR(c.cold, 1.039, 5e-4);
  EXPECT_NEAR(c.behind_of_other, 0.136, 5e-4);
  EXPECT_NEAR(c.behind_of_own, 0.158, 5e-4);
  EXPECT_NEAR(c.relative_ratio, 0.897, 5e-4);
  PowerLedger p = power_ledger({60, 15.5, 4.5}, {60, 10, 4.5}, 0.91);
  EXPECT_NEAR(*p.linear_power, 61.1, 0.1);
  EXPECT_TRUE(says(p.words, "not linear"));
  EXPECT_THROW(power_ledger({10, 8, 3}, {60, 1, 1}, {}), Error);
  const PowerSample flat[] = {{0, 100}, {10, 100}}, back[] = {{0, 1}, {0, 1}};
  EXPECT_DOUBLE_EQ(energy_joules(flat, 20), 800);
  EXPECT_THROW(energy_joules(back), Error);
  TaskEnergy a = task_energy(9965, 275, 295.7, 39.7, 234.23);
  EXPECT_NEAR(a.seconds, 40.6, 0.05);
  EXPECT_NEAR(a.joules, 9500, 50);
}

TEST(Roofline, m14_and_m15) {
  Position p = position(33030144.0 * 512, 60.129542, 156, 256, 6.4);
  EXPECT_NEAR(p.tflop_s, 0.385, 5e-4);
  EXPECT_NEAR(p.share_of_arithmetic, 0.06, 5e-3);
  Position decode = position(decode_gb_s(1.65, 39.7) * 1e9, 1, 1000, 256, 6.4);
  EXPECT_EQ(decode.bound, Bound::Neither);
  EXPECT_TRUE(says(decode.words, "not bandwidth-bound"));
  EXPECT_TRUE(position(1e9, 1, 1, 256, 6.4).impossible);
  EXPECT_EQ(bank_conflict_degree(64), 32);
  EXPECT_EQ(bank_conflict_degree(65), 1);
  EXPECT_THROW(bank_conflict_degree(0), Error);
  EXPECT_NEAR(gap_closed_share(830.6, 927.9, 0.099), 0.86, 5e-3);
  EXPECT_NEAR(gap_ms(512, 830.6, 927.9), 64.6, 0.05);
  Coverage c = coverage_of_calls(385.7, 101.5, 10);
  EXPECT_NEAR(c.kappa, 0.38, 5e-3);
  EXPECT_NEAR(c.calls_that_explain, 3.8, 5e-3);
  EXPECT_FALSE(c.same_thing);
  const Category whole[] = {{"attention", 40, 30}, {"linear", 60, 50}}, half[] = {{"attention", 40, 30}};
  Reconciled r = reconcile(whole, 101, 80, 0);
  EXPECT_TRUE(r.coverage_ok);
  EXPECT_NEAR(r.unexplained_ms, 1, 1e-9);
  EXPECT_FALSE(reconcile(half, 101, 80, 0).coverage_ok);
  const Category fast[] = {{"linear", 10, 10, 1e10, 1e6, 1e7}};
  EXPECT_EQ(reconcile(fast, 10, 10, 100).complaints.size(), 2u);  // above the peak; fewer bytes than weights
}

TEST(Batching, m16) {
  BatchAffine a = batch_affine(2, 65.7, 16, 67.4);
  EXPECT_NEAR(a.fixed_over_per_seq, 0.059, 5e-4);
  EXPECT_NEAR(a.rate(16), 67.4, 1e-9);
  EXPECT_NEAR(batch_affine(2, 1, 16, 2).fixed_over_per_seq, 2.67, 5e-3);
  EXPECT_THROW(batch_affine(2, 10, 16, 1000), Error);
  EXPECT_THROW(batch_affine(16, 10, 2, 20), Error);
  EXPECT_NEAR(experts_touched(256, 8, 16), 102, 0.5);
  EXPECT_NEAR(expert_sharing(256, 8, 16), 1.26, 5e-3);
  EXPECT_NEAR(batch_gain({.shared = 100, .state_per_seq = 1}, 4, 0.5, 0.25).gain, 4 * 101.0 / 104 / 2, 1e-12);
}

TEST(Speculating, m17) {
  for (int k = 1; k <= 4; ++k) EXPECT_TRUE(speculation(k, cost_from_full_acceptance(k, 0.97)).never_pays);
  double y = speculation_yield(65.26 / 92.0, 0.97);
  EXPECT_NEAR(2 * y, 1.463, 5e-4);
  EXPECT_NEAR(alpha_for(2 * y, 1), 0.463, 5e-4);
  EXPECT_NEAR(3 * y, 2.194, 5e-4);
  EXPECT_NEAR(alpha_for(3 * y, 2), 0.702, 1e-3);
  EXPECT_NEAR(plain_rate_at_least(133.4, 1.38), 96.7, 0.05);
  EXPECT_NEAR(plain_rate_at_least(133.4, tokens_per_round_limit(0.38)), 82.7, 0.05);
  EXPECT_NEAR(best_gain(5, 20.67, 8.47), 2.05, 5e-3);
  EXPECT_DOUBLE_EQ(tokens_per_round_at(1, 3), 4);
  Speculation s = speculation(2, 15.64 / 8.47);
  EXPECT_FALSE(s.never_pays);
  EXPECT_NEAR(tokens_per_round_at(s.break_even_alpha, 2), s.cost, 1e-9);
  EXPECT_THROW(alpha_for(3.5, 2), Error);
  EXPECT_THROW(speculation(0, 1), Error);
}

TEST(Tokenizers, m18_and_m19) {
  EXPECT_NEAR(*tokenizer_old_time_ms(79, 1000), 79.1, 0.05);
  EXPECT_FALSE(tokenizer_old_time_ms(79, 0.07).has_value());
  EXPECT_TRUE(says(tokenizer_verdict(79, 0.07, {}).words, "never pays"));
  EXPECT_NEAR(*tokenizer_break_even(79, 1e6, 2), 158000, 1e-6);
  LessThanOneCall l = less_than_one_call("prompt token", 5000, 0.92, 79);
  EXPECT_NEAR(l.calls, 58, 0.3);
  EXPECT_FALSE(l.less);
  EXPECT_NEAR(1000 * l.threshold_unit_ms, 15.8, 1e-9);
}

TEST(Agents, m21_and_m23) {
  const Turn turns[] = {{6804, 25}, {3161, 250}};
  AgentTask t = agent_task(turns, 94.9, 16.6, 0, 128);
  EXPECT_NEAR(t.model_s, 121.6, 0.05);
  EXPECT_NEAR(t.prompt_share, 0.864, 5e-4);
  EXPECT_NEAR(*t.residual_s, 6.4, 0.1);
  EXPECT_THROW(agent_task(turns, 154.7, 29.4, 0, 66), Error);  // a negative residual
  EXPECT_NEAR(length_normalised_s(278.6, 3073, 263, 39.7), 207.8, 0.05);
  EXPECT_THROW(length_normalised_s(10, 3073, 263, 39.7), Error);
  EXPECT_FALSE(overtake_ratio(100, 10, 200, 20).has_value());
  EXPECT_NEAR(*overtake_ratio(100, 10, 50, 20), (1.0 / 50 - 1.0 / 100) / (1.0 / 10 - 1.0 / 20), 1e-12);
  EXPECT_TRUE(gate({98304, 0}, {98304, 48706}).passed);
  EXPECT_FALSE(gate({98304, 1}, {98304, 48706}).passed);
  EXPECT_FALSE(gate({98304, 0}, {98304, 900}).passed);
  const float x[] = {1.0F, NAN, 3.0F};
  const double reference[] = {1.0, 2.0, 3.1};
  EXPECT_EQ(count_out(x, reference, 0.01, 0.01).out, 2u);
}

TEST(Composing, m22_and_m24) {
  StaleShare s = stale_share(1.05, 2.4421, 0.043);
  EXPECT_TRUE(s.stale);
  EXPECT_NEAR(s.implied, 0.081, 5e-4);
  EXPECT_FALSE(stale_share(1.03, 2.4421, 0.0532).stale);
  EXPECT_THROW(implied_share(1.03, 1), Error);
  const Step apart[] = {{1000, 871}, {1079, 971}}, joined[] = {{1000, 800}, {800, 400}};
  EXPECT_FALSE(chain(apart).composes);
  EXPECT_EQ(chain(apart).broken_at, 1);
  EXPECT_TRUE(chain(joined).composes);
  EXPECT_DOUBLE_EQ(chain(joined).product, 2.5);
  Percent p = percent_of_rates(133.7, 197.7);
  EXPECT_EQ(p.words, "+47.9 % faster, 32.4 % less time");
  EXPECT_TRUE(says(percent(830.6 / 927.9).words, "10.5 % slower, 11.7 % more time"));
  EXPECT_TRUE(says(claimed_percent(133.7, 197.7, 0.333, 0.02).words, "share of the final rate"));
  EXPECT_TRUE(says(claimed_percent(133.7, 197.7, 0.9, 0.02).words, "fits no reading"));
  EXPECT_NEAR(undercount(0.6).factor_of_true, 2.5, 1e-12);
  EXPECT_THROW(percent(0), Error);
}

}  // namespace
}  // namespace tally::lab::def
