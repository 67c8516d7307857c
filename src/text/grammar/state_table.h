// The states that a text can lead to, made as they are met and kept: equal ones are one number, so a transition is
// computed once and a state can be copied, compared and gone back to for nothing.
//
// A state is a set of frames: terminals half read, each over the frames that go on after it. A frame's parents are a
// set too, so stacks that share their upper part share it here (a graph-structured stack, after Tomita 1985; sharing
// equal frames after Goto 1974), and their number stays small where a grammar is ambiguous.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/grammar/automaton.h"
#include "text/grammar/intern.h"

namespace tally::grammar {

using StateId = uint32_t;  // 0: no text begins so

struct Frame {
  uint32_t instr = 0;    // Term, Counted: half read; Call, Loop: waiting for their rule; End: the lowest
  uint32_t state = 0;    // of the terminal
  uint64_t count = 0;    // Counted, Loop: texts done, no more than matter
  uint32_t parents = 0;  // set of frames
  bool operator==(const Frame&) const = default;
};
inline uint64_t hash_of(const Frame& f) {
  return mix(mix(uint64_t(f.instr) << 32 | f.state) ^ (uint64_t(f.parents) << 32) ^ f.count * 0x9e3779b97f4a7c15ULL);
}

struct StateLimits {
  uint64_t bytes = 64u << 20;  // beyond it StateTable::full()
  uint32_t frames = 20'000;    // in one set
  uint32_t work = 400'000;     // frames touched by one byte
};

class StateTable {
 public:
  explicit StateTable(std::shared_ptr<const Automaton> automaton, StateLimits limits = {});

  const Automaton& automaton() const { return *automaton_; }
  StateId start() const { return start_; }
  // Throws ConstraintError ("limit") when the grammar is too ambiguous at this place.
  StateId step(StateId state, uint8_t byte) {
    const uint64_t key = uint64_t(state) << 8 | byte;
    if (const uint32_t* found = steps_.find(key)) return *found;
    return compute_step(state, byte, key);
  }
  StateId run(StateId state, std::string_view bytes) {
    for (size_t i = 0; i < bytes.size() && state != 0; ++i) state = step(state, static_cast<uint8_t>(bytes[i]));
    return state;
  }
  bool can_end(StateId state) const { return sets_.get(state).size() > 0 && sets_.get(state)[0] == kEndFrame; }
  // The frames of a state; kEndFrame among them says that the text may end.
  std::span<const uint32_t> frames(StateId state) const { return sets_.get(state); }
  const Frame& frame(uint32_t f) const { return frames_.get(f); }
  const Terminal& terminal_of(const Frame& f) const { return automaton_->terminal(automaton_->instr(f.instr).a); }
  // The state of one frame alone.
  StateId state_of(uint32_t frame) { return singleton(frame); }
  // Bytes that lead on.
  const ByteSet& allowed(StateId state);
  // The state behind a frame's terminal, when its text ends with `count` texts done (Counted) and goes no further.
  StateId after(uint32_t frame);

  uint64_t bytes() const;
  bool full() const { return bytes() > limits_.bytes; }
  uint64_t byte_limit() const { return limits_.bytes; }
  // Forgets everything but the given states (which get new numbers) and the start.
  void keep_only(std::span<StateId> states);

  static constexpr uint32_t kEndFrame = 0;

 private:
  struct Seed {
    uint32_t instr, set;
  };
  struct Reentry {
    uint32_t instr;
    uint64_t count;
    uint32_t set;
  };

  StateId compute_step(StateId state, uint8_t byte, uint64_t key);
  void add_leaf(uint32_t instr, uint32_t state, uint64_t count, uint32_t parents);
  StateId close();
  void pop_frames();
  void reenter_loops();
  void push_frames();
  void open_group(uint32_t group, uint32_t parents);
  void arrive(uint32_t instr, uint32_t set);
  void seed(uint32_t instr, uint32_t set);
  uint32_t frame_set(uint32_t instr, uint64_t count, uint32_t parents);
  uint32_t singleton(uint32_t frame);
  uint32_t union_of(std::span<const uint32_t> sets);
  void spend(uint64_t n);
  uint32_t intern_set(std::span<const uint32_t> frames);
  StateId make_start();

  std::shared_ptr<const Automaton> automaton_;
  StateLimits limits_;
  FrameTable frames_;
  SetTable sets_;
  StepTable steps_;
  std::vector<uint32_t> single_;      // by frame: its singleton set, or 0
  std::vector<uint32_t> after_;       // by frame: see after(), plus 1; 0: not computed
  std::vector<uint32_t> allowed_at_;  // by state: index in allowed_, plus 1
  std::vector<ByteSet> allowed_;
  StateId start_ = 0;

  // Of the step being computed.
  std::vector<uint32_t> leaves_, heap_, joined_;
  std::vector<Seed> seeds_;
  std::unordered_set<uint64_t> seed_keys_;
  std::vector<Reentry> reentries_;
  std::vector<std::vector<uint32_t>> arrivals_;
  std::vector<uint32_t> arrival_at_;  // by group: index in arrivals_ plus 1
  size_t n_arrivals_ = 0;
  uint64_t work_ = 0;
};

}  // namespace tally::grammar
