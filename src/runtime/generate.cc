#include "runtime/generate.h"

#include <algorithm>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"

namespace tally::runtime {

namespace {

// Chooses tokens, keeps count, says when to end.
class Chooser {
 public:
  Chooser(Engine& engine, const GenerateSettings& settings, const OnToken& on_token, GenerateStats& stats)
      : engine_(engine), settings_(settings), on_token_(on_token), stats_(stats) {}

  // The token after `history` by this row. Sets `done` when the generation ends with it.
  int32_t choose(std::span<const float> logits, std::span<const int32_t> history) {
    stats_.logits_hash = hash_bytes(logits.data(), logits.size_bytes(), stats_.logits_hash);
    if (settings_.n_choices > 0) logits = logits.first(std::min<size_t>(settings_.n_choices, logits.size()));
    std::span<const uint64_t> allowed;
    if (settings_.constraint) allowed = settings_.constraint->allowed();
    int32_t token = ops::sample(logits, history, settings_.sampling, history.size(), settings_.banned, allowed);
    if (settings_.constraint) settings_.constraint->accept(token);
    ++stats_.n_generated;
    bool go_on = on_token_(token);
    if (!go_on || (is_stop(token) && (!settings_.ignore_stop_ids || settings_.constraint)))
      end(Finish::Stop);
    else if (stats_.n_generated == settings_.n_predict || int(history.size()) + 1 >= engine_.context_length())
      end(Finish::Length);
    else if (settings_.cancel && settings_.cancel->load())
      end(Finish::Cancelled);
    return token;
  }
  bool done = false;
  Finish finish = Finish::Length;
  TokenConstraint* constraint() const { return settings_.constraint; }
  bool is_stop(int32_t token) const {
    return std::find(settings_.stop_ids.begin(), settings_.stop_ids.end(), token) != settings_.stop_ids.end();
  }
  // What a drafting block would choose: its best token, of those the constraint allows. −1: nothing worth drafting.
  int32_t guess(std::span<const float> logits) const {
    if (!settings_.constraint) return ops::argmax(logits);
    if (settings_.n_choices > 0) logits = logits.first(std::min<size_t>(settings_.n_choices, logits.size()));
    const std::span<const uint64_t> allowed = settings_.constraint->allowed();
    if (std::all_of(allowed.begin(), allowed.end(), [](uint64_t word) { return word == 0; })) return -1;
    const int32_t token = ops::sample(logits, {}, {}, 0, settings_.banned, allowed);
    return is_stop(token) ? -1 : token;
  }
  // How many more tokens may be chosen.
  int remaining() const { return settings_.n_predict < 0 ? kMaxDraft + 1 : settings_.n_predict - stats_.n_generated; }

 private:
  void end(Finish why) {
    done = true;
    finish = why;
  }
  Engine& engine_;
  const GenerateSettings& settings_;
  const OnToken& on_token_;
  GenerateStats& stats_;
};

void decode_plainly(Engine& engine, Sequence& s, int32_t token, Chooser& chooser, GenerateStats& stats) {
  std::vector<int32_t> history(s.tokens);
  while (!chooser.done) {
    std::span<const float> logits = engine.decode(s, token);
    ++stats.n_steps;
    history.push_back(token);
    token = chooser.choose(logits, history);
  }
}

// What the MTP block has yet to see of the trunk's path: tokens at consecutive positions with their input rows.
struct Pending {
  int first_position;
  std::vector<int32_t> tokens;
  std::vector<float> inputs;
};

// Drafts up to n tokens after the pending ones, each from the block's own row of the one before. A constraint is walked
// along and taken back, so that what it forbids is not drafted.
std::vector<int32_t> draft(Engine& engine, Sequence& s, Pending& pending, int n, const Chooser& chooser) {
  std::vector<int32_t> drafts;
  std::vector<float> hidden;
  int last = static_cast<int>(pending.tokens.size()) - 1, position = pending.first_position + last;
  Rows rows = engine.step_mtp(s, pending.first_position, pending.tokens, pending.inputs.data(), {&last, 1}, &hidden);
  size_t width = hidden.size() / pending.tokens.size();
  std::vector<float> row(hidden.end() - width, hidden.end());
  TokenConstraint* constraint = chooser.constraint();
  const int first = 0;
  for (;;) {
    const int32_t token = chooser.guess(rows.row(0));
    if (token < 0) break;
    drafts.push_back(token);
    if (static_cast<int>(drafts.size()) == n) break;
    if (constraint) constraint->accept(token);
    rows = engine.step_mtp(s, ++position, {&drafts.back(), 1}, row.data(), {&first, 1}, &hidden);
    row = hidden;
  }
  if (constraint) constraint->rollback(static_cast<int>(drafts.size()) - (static_cast<int>(drafts.size()) == n));
  return drafts;
}

void decode_drafting(Engine& engine, Sequence& s, int32_t token, Chooser& chooser, GenerateStats& stats) {
  size_t width = s.last_hidden.size();
  Pending pending{static_cast<int>(s.tokens.size()), {token}, s.last_hidden};
  std::vector<int32_t> history(s.tokens);
  while (!chooser.done) {
    int room = engine.context_length() - static_cast<int>(s.tokens.size()) - 1;
    int n = std::min({engine.options().n_draft, chooser.remaining() - 1, room});
    std::vector<int32_t> segment{token};
    if (n > 0) {
      engine.reserve(s, n + 1);
      std::vector<int32_t> drafts = draft(engine, s, pending, n, chooser);
      n = static_cast<int>(drafts.size());
      segment.insert(segment.end(), drafts.begin(), drafts.end());
    }
    n = std::max(n, 0);
    Segment verify{&s, segment, {}, {}};
    for (int i = 0; i <= n; ++i) {
      verify.outputs.push_back(i);
      verify.checkpoints.push_back(i < n ? s.spare_slots[i] : -1);
    }
    size_t base = s.tokens.size();
    Rows rows = engine.step({&verify, 1});
    ++stats.n_steps;
    stats.n_drafted += n;
    pending = {static_cast<int>(base), {}, s.last_hidden};
    int accepted = 0;
    for (int i = 0; i <= n && !chooser.done; ++i) {
      history.push_back(segment[i]);
      pending.tokens.push_back(segment[i]);
      std::span<const float> h = engine.hidden().row(i);
      pending.inputs.insert(pending.inputs.end(), h.begin(), h.end());
      accepted = i;
      token = chooser.choose(rows.row(i), history);
      if (i == n || token != segment[i + 1]) break;
    }
    stats.n_accepted += accepted;
    s.last_hidden.assign(pending.inputs.end() - width, pending.inputs.end());
    engine.truncate(s, base + accepted + 1, accepted < n ? accepted : -1);
    pending.tokens.push_back(token);  // chosen, not consumed: the next draft starts from it
  }
  // The block's cache must hold what the trunk has consumed before the sequence goes on elsewhere.
  pending.tokens.pop_back();
  if (!pending.tokens.empty())
    engine.step_mtp(s, pending.first_position, pending.tokens, pending.inputs.data(), {}, nullptr);
}

}  // namespace

Finish generate(Engine& engine, Sequence& s, std::span<const int32_t> prompt, const GenerateSettings& settings,
                const OnToken& on_token, GenerateStats* stats_out) {
  if (prompt.empty()) fail(ErrorCode::Usage, "the prompt is empty: at least one token is needed");
  if (settings.n_predict == 0 || settings.n_predict < -1)
    fail(ErrorCode::Usage, "n_predict is {}, expected at least 1, or -1 for no limit", settings.n_predict);
  ops::check_settings(settings.sampling);
  GenerateStats stats;
  stats.n_prompt = static_cast<int>(prompt.size());
  uint64_t dispatches = engine.n_dispatches(), begin = now_ns();
  Chooser chooser(engine, settings, on_token, stats);
  int last = static_cast<int>(prompt.size()) - 1;
  std::vector<float> row;
  engine.consume(s, prompt, {&last, 1},
                 [&](int, std::span<const float> logits) { row.assign(logits.begin(), logits.end()); });
  stats.prompt_ns = now_ns() - begin;
  int32_t token = chooser.choose(row, s.tokens);
  begin = now_ns();
  if (!chooser.done) {
    if (engine.drafting())
      decode_drafting(engine, s, token, chooser, stats);
    else
      decode_plainly(engine, s, token, chooser, stats);
  }
  stats.decode_ns = now_ns() - begin;
  stats.n_dispatches = engine.n_dispatches() - dispatches;
  if (stats_out) *stats_out = stats;
  return chooser.finish;
}

}  // namespace tally::runtime
