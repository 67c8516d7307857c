#include "text/grammar/state_table.h"

#include <algorithm>

#include "base/check.h"
#include "text/grammar/constraint_error.h"

namespace tally::grammar {

StateTable::StateTable(std::shared_ptr<const Automaton> automaton, StateLimits limits)
    : automaton_(std::move(automaton)), limits_(limits), arrival_at_(automaton_->n_groups(), 0) {
  start_ = make_start();
}

StateId StateTable::make_start() {
  frames_.intern({Automaton::kEnd, 0, 0, 0});  // kEndFrame
  work_ = 0;
  seed(automaton_->start(), singleton(kEndFrame));
  return close();
}

void StateTable::spend(uint64_t n) {
  work_ += n;
  if (work_ > limits_.work)
    throw ConstraintError("", "the text has too many readings at this place of the grammar or schema", limits_.work,
                          work_);
}

uint32_t StateTable::singleton(uint32_t frame) {
  if (frame >= single_.size()) single_.resize(std::max<size_t>(frame + 1, single_.size() * 2), 0);
  if (single_[frame] == 0) single_[frame] = sets_.intern({&frame, 1});
  return single_[frame];
}

uint32_t StateTable::intern_set(std::span<const uint32_t> frames) {
  if (frames.size() == 1) return singleton(frames[0]);
  if (frames.size() > limits_.frames)
    throw ConstraintError("", "the text has too many readings at this place of the grammar or schema", limits_.frames,
                          frames.size());
  return sets_.intern(frames);
}

uint32_t StateTable::union_of(std::span<const uint32_t> sets) {
  if (sets.size() == 1) return sets[0];
  joined_.clear();
  for (uint32_t s : sets) {
    const auto set = sets_.get(s);
    joined_.insert(joined_.end(), set.begin(), set.end());
  }
  spend(joined_.size());
  std::sort(joined_.begin(), joined_.end());
  joined_.erase(std::unique(joined_.begin(), joined_.end()), joined_.end());
  return intern_set(joined_);
}

void StateTable::add_leaf(uint32_t instr, uint32_t state, uint64_t count, uint32_t parents) {
  leaves_.push_back(frames_.intern({instr, state, count, parents}));
}

uint32_t StateTable::frame_set(uint32_t instr, uint64_t count, uint32_t parents) {
  return singleton(frames_.intern({instr, 0, count, parents}));
}

// Where reading goes on: `instr` over `set`. Each pair once.
void StateTable::seed(uint32_t instr, uint32_t set) {
  spend(1);
  constexpr size_t kFew = 16;
  if (seeds_.size() < kFew) {
    for (const Seed& s : seeds_)
      if (s.instr == instr && s.set == set) return;
  } else {
    if (seeds_.size() == kFew) {
      seed_keys_.clear();
      for (const Seed& s : seeds_) seed_keys_.insert(uint64_t(s.instr) << 32 | s.set);
    }
    if (!seed_keys_.insert(uint64_t(instr) << 32 | set).second) return;
  }
  seeds_.push_back({instr, set});
}

StateId StateTable::compute_step(StateId state, uint8_t byte, uint64_t key) {
  work_ = 0;
  leaves_.clear(), seeds_.clear();
  const size_t n = frames(state).size();
  for (size_t i = 0; i < n; ++i) {
    const uint32_t f = frames(state)[i];  // the table may move while it grows
    if (f == kEndFrame) continue;
    const Frame at = frame(f);
    const Instr& instr = automaton_->instr(at.instr);
    const Terminal& terminal = automaton_->terminal(instr.a);
    const int to = terminal.step(static_cast<int>(at.state), byte);
    if (to < 0) continue;
    spend(1);
    if (instr.op == InstrOp::Term) {
      if (terminal.accepting(to)) seed(instr.next, at.parents);
      if (terminal.has_edges(to)) add_leaf(at.instr, static_cast<uint32_t>(to), 0, at.parents);
    } else if (!terminal.accepting(to)) {
      add_leaf(at.instr, static_cast<uint32_t>(to), at.count, at.parents);
    } else {
      const uint64_t count = instr.max == kUnbounded ? std::min(at.count + 1, instr.min) : at.count + 1;
      if (count < instr.max) add_leaf(at.instr, static_cast<uint32_t>(terminal.start()), count, at.parents);
      if (count >= instr.min) seed(instr.next, at.parents);
    }
  }
  const StateId to = close();
  steps_.put(key, to);
  return to;
}

StateId StateTable::after(uint32_t f) {
  if (f >= after_.size()) after_.resize(std::max<size_t>(f + 1, after_.size() * 2), 0);
  if (after_[f] == 0) {
    work_ = 0;
    leaves_.clear(), seeds_.clear();
    const Frame at = frame(f);
    seed(automaton_->instr(at.instr).next, at.parents);
    const StateId to = close();
    after_[f] = to + 1;
  }
  return after_[f] - 1;
}

// The state of what was read (leaves_) and of what may come next (seeds_).
StateId StateTable::close() {
  if (!seeds_.empty()) {
    reentries_.clear(), heap_.clear();
    n_arrivals_ = 0;
    try {
      pop_frames();
      reenter_loops();
      for (const Seed& s : seeds_) arrive(s.instr, s.set);
      push_frames();
    } catch (...) {
      std::fill(arrival_at_.begin(), arrival_at_.end(), 0);
      throw;
    }
  }
  std::sort(leaves_.begin(), leaves_.end());
  leaves_.erase(std::unique(leaves_.begin(), leaves_.end()), leaves_.end());
  return leaves_.empty() ? 0 : intern_set(leaves_);
}

// Rules that may end here end: their frames say what follows. Only frames of earlier bytes are touched.
void StateTable::pop_frames() {
  for (size_t i = 0; i < seeds_.size(); ++i) {
    const Seed s = seeds_[i];
    if (!automaton_->instr(s.instr).may_end) continue;
    const size_t n = sets_.get(s.set).size();
    spend(n);
    for (size_t k = 0; k < n; ++k) {
      const uint32_t id = sets_.get(s.set)[k];
      const Frame f = frame(id);
      const Instr& instr = automaton_->instr(f.instr);
      if (instr.op == InstrOp::End) {
        leaves_.push_back(kEndFrame);
      } else if (instr.op == InstrOp::Call) {
        seed(instr.next, f.parents);
      } else {
        const uint64_t count = instr.max == kUnbounded ? std::min(f.count + 1, instr.min) : f.count + 1;
        if (count < instr.max) reentries_.push_back({f.instr, count, f.parents});
        if (count >= instr.min) seed(instr.next, f.parents);
      }
    }
  }
}

void StateTable::reenter_loops() {
  std::sort(reentries_.begin(), reentries_.end(), [](const Reentry& a, const Reentry& b) {
    return a.instr != b.instr ? a.instr < b.instr : a.count != b.count ? a.count < b.count : a.set < b.set;
  });
  std::vector<uint32_t> sets;
  for (size_t i = 0, j = 0; i < reentries_.size(); i = j) {
    const Reentry& r = reentries_[i];
    sets.clear();
    for (; j < reentries_.size() && reentries_[j].instr == r.instr && reentries_[j].count == r.count; ++j)
      if (sets.empty() || sets.back() != reentries_[j].set) sets.push_back(reentries_[j].set);
    arrive(automaton_->instr(r.instr).a, frame_set(r.instr, r.count, union_of(sets)));
  }
}

void StateTable::arrive(uint32_t instr, uint32_t set) {
  spend(1);
  const uint32_t group = automaton_->instr(instr).group;
  if (arrival_at_[group] == 0) {
    if (n_arrivals_ == arrivals_.size()) arrivals_.emplace_back();
    arrivals_[n_arrivals_].clear();
    arrival_at_[group] = static_cast<uint32_t>(++n_arrivals_);
    heap_.push_back(group);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }
  auto& sets = arrivals_[arrival_at_[group] - 1];
  if (sets.empty() || sets.back() != set) sets.push_back(set);
}

// Rules begin: group by group, so that the parents of each frame are complete when it is made.
void StateTable::push_frames() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const uint32_t group = heap_.back();
    heap_.pop_back();
    const uint32_t at = arrival_at_[group] - 1;
    const uint32_t parents = union_of(arrivals_[at]);
    arrival_at_[group] = 0;
    open_group(group, parents);
  }
}

void StateTable::open_group(uint32_t group, uint32_t parents) {
  const auto go = [&](uint32_t to) {
    if (automaton_->instr(to).group != group) arrive(to, parents);
  };
  for (uint32_t pc : automaton_->group(group)) {
    const Instr& instr = automaton_->instr(pc);
    switch (instr.op) {
      case InstrOp::Term:
      case InstrOp::Counted:
        add_leaf(pc, static_cast<uint32_t>(automaton_->terminal(instr.a).start()), 0, parents);
        spend(1);
        break;
      case InstrOp::Call:
      case InstrOp::Loop:
        arrive(instr.a, frame_set(pc, 0, parents));
        break;
      case InstrOp::Alt:
        for (uint32_t i = 0; i < instr.n; ++i) go(instr.a + i);
        break;
      case InstrOp::Jump:
        go(instr.next);
        break;
      case InstrOp::Tail:
        go(instr.a);
        break;
      case InstrOp::Return:
      case InstrOp::End:
        break;  // pop_frames has seen to it
    }
    if (instr.skip) go(instr.next);
  }
}

const ByteSet& StateTable::allowed(StateId state) {
  if (state >= allowed_at_.size()) allowed_at_.resize(std::max<size_t>(state + 1, allowed_at_.size() * 2), 0);
  if (allowed_at_[state] == 0) {
    ByteSet set;
    for (uint32_t f : frames(state))
      if (f != kEndFrame) terminal_of(frame(f)).add_allowed(static_cast<int>(frame(f).state), set);
    allowed_.push_back(set);
    allowed_at_[state] = static_cast<uint32_t>(allowed_.size());
  }
  return allowed_[allowed_at_[state] - 1];
}

uint64_t StateTable::bytes() const {
  return frames_.bytes() + sets_.bytes() + steps_.bytes() +
         (single_.capacity() + after_.capacity() + allowed_at_.capacity()) * 4 + allowed_.capacity() * sizeof(ByteSet);
}

void StateTable::keep_only(std::span<StateId> states) {
  std::vector<uint8_t> set_seen(sets_.size(), 0), frame_seen(frames_.size(), 0);
  std::vector<uint32_t> work(states.begin(), states.end());
  while (!work.empty()) {
    const uint32_t set = work.back();
    work.pop_back();
    if (std::exchange(set_seen[set], 1)) continue;
    for (uint32_t f : sets_.get(set))
      if (!std::exchange(frame_seen[f], 1)) work.push_back(frame(f).parents);
  }
  StateTable fresh(automaton_, limits_);
  // Parents are older than their frames, so going up in number each finds its parents done.
  std::vector<uint32_t> set_map(sets_.size(), 0), frame_map(frames_.size(), 0);
  const auto map_set = [&](uint32_t set) {
    if (set == 0 || set_map[set] != 0) return set_map[set];
    std::vector<uint32_t> members;
    for (uint32_t f : sets_.get(set)) members.push_back(frame_map[f]);
    std::sort(members.begin(), members.end());
    return set_map[set] = fresh.intern_set(members);
  };
  for (uint32_t f = 0; f < frame_seen.size(); ++f) {
    if (!frame_seen[f]) continue;
    Frame copy = frame(f);
    copy.parents = map_set(copy.parents);
    frame_map[f] = fresh.frames_.intern(copy);
  }
  for (StateId& s : states) s = map_set(s);
  *this = std::move(fresh);
}

}  // namespace tally::grammar
