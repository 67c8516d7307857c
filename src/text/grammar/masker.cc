#include "text/grammar/masker.h"

#include <algorithm>

namespace tally::grammar {

Masker::Masker(Matcher& matcher, std::shared_ptr<MaskVocabulary> vocabulary, uint64_t byte_limit)
    : matcher_(matcher),
      table_(matcher.table()),
      vocabulary_(std::move(vocabulary)),
      trie_(vocabulary_->trie()),
      n_words_(trie_.n_words()),
      n_slots_(std::max<size_t>(2 * kKept, byte_limit / (n_words_ * 8 + 1))),
      generation_(matcher.generation()),
      terminals_(table_.automaton().n_terminals()),
      path_(trie_.longest() + 1) {}

std::span<const uint64_t> Masker::row() {
  if (generation_ != matcher_.generation()) {
    generation_ = matcher_.generation();
    std::fill(slot_of_.begin(), slot_of_.end(), 0);
    for (Slot& s : slots_) s.state = 0;
  }
  const StateId state = matcher_.state();
  if (state >= slot_of_.size()) slot_of_.resize(std::max<size_t>(state + 1, slot_of_.size() * 2), 0);
  ++clock_;
  if (slot_of_[state] == 0) {
    const size_t slot = free_slot();
    compute(state, slots_[slot].row.get());
    slots_[slot].state = state;
    slot_of_[state] = static_cast<uint32_t>(slot) + 1;
  }
  Slot& slot = slots_[slot_of_[state] - 1];
  slot.used = clock_;
  return {slot.row.get(), n_words_};
}

// A new slot, or the next one that was not used lately.
size_t Masker::free_slot() {
  if (slots_.size() < n_slots_) {
    slots_.push_back({std::make_unique_for_overwrite<uint64_t[]>(n_words_), 0, 0});
    return slots_.size() - 1;
  }
  while (slots_[hand_].used + kKept >= clock_) hand_ = (hand_ + 1) % slots_.size();
  Slot& slot = slots_[hand_];
  if (slot.state != 0) slot_of_[slot.state] = 0;
  slot.state = 0;
  const size_t found = hand_;
  hand_ = (hand_ + 1) % slots_.size();
  return found;
}

void Masker::compute(StateId state, uint64_t* row) {
  constexpr size_t kManyFrames = 48;  // then states are followed as wholes
  std::fill(row, row + n_words_, 0);
  if (table_.can_end(state))
    for (int32_t id : trie_.end_ids()) row[id >> 6] |= uint64_t(1) << (id & 63);
  const size_t n = table_.frames(state).size();
  if (n > kManyFrames) return add_subtree(1, trie_.n_nodes(), state, row);
  for (size_t i = 0; i < n; ++i)
    if (const uint32_t f = table_.frames(state)[i]; f != StateTable::kEndFrame) add_frame(f, row);
}

void Masker::add_frame(uint32_t f, uint64_t* row) {
  if (table_.terminal_of(table_.frame(f)).dfa())
    add_rows(f, row);
  else if (table_.automaton().instr(table_.frame(f).instr).op == InstrOp::Term)
    add_direct(f, row);
  else
    add_subtree(1, trie_.n_nodes(), table_.state_of(f), row);
}

// Literals and sets of literals: the trie's nodes along them, and what follows where they end.
void Masker::add_direct(uint32_t f, uint64_t* row) {
  const Frame frame = table_.frame(f);
  const Terminal& terminal = table_.terminal_of(frame);
  struct At {
    uint32_t node;
    int state;
  };
  std::vector<At> work{{0, static_cast<int>(frame.state)}};
  while (!work.empty()) {
    const At at = work.back();
    work.pop_back();
    const auto visit = [&](uint32_t node, int to) {
      trie_.set_tokens(trie_.node(node), row);
      if (!trie_.has_children(node)) return;
      if (terminal.accepting(to)) add_subtree(node + 1, trie_.node(node).skip, table_.after(f), row);
      if (terminal.has_edges(to)) work.push_back({node, to});
    };
    if (terminal.is_literal()) {
      const uint32_t node = trie_.child(at.node, static_cast<uint8_t>(terminal.literal()[size_t(at.state)]));
      if (node != 0) visit(node, at.state + 1);
      continue;
    }
    for (uint32_t node = at.node + 1; node < trie_.node(at.node).skip; node = trie_.node(node).skip)
      if (const int to = terminal.step(at.state, trie_.node(node).byte); to >= 0) visit(node, to);
  }
}

const TerminalRow& Masker::terminal_row(const Instr& instr, int state) {
  auto& rows = terminals_[instr.a];
  if (!rows) rows = vocabulary_->rows_of(table_.automaton().terminal(instr.a).dfa());
  return rows->row(state, instr.op == InstrOp::Counted);
}

void Masker::add_rows(uint32_t f, uint64_t* row) {
  const Frame frame = table_.frame(f);
  const Instr& instr = table_.automaton().instr(frame.instr);
  const TerminalRow& inside = terminal_row(instr, static_cast<int>(frame.state));
  const bool counted = instr.op == InstrOp::Counted;
  const uint64_t room = counted && instr.max != kUnbounded ? instr.max - frame.count : kUnbounded;
  inside.add_inside(room, row);
  const StateId after = table_.after(f);
  const ByteSet allowed = table_.allowed(after);
  inside.for_exits(allowed, [&](const TerminalExit& e) {
    if (counted && (e.count > room || frame.count + e.count < instr.min)) return;
    if (inside.by_byte())
      add_subtree(e.node, trie_.node(e.node).skip, after, row);
    else
      add_subtree(e.node + 1, trie_.node(e.node).skip, after, row);
  });
}

// The tokens at the nodes [begin, end), whole subtrees below one node at which the text is in state `above`.
void Masker::add_subtree(uint32_t begin, uint32_t end, StateId above, uint64_t* row) {
  if (begin >= end) return;
  const TrieNode* nodes = trie_.nodes();
  path_[nodes[begin].depth - 1] = above;
  for (uint32_t i = begin; i < end;) {
    const TrieNode& node = nodes[i];
    const StateId parent = path_[node.depth - 1];
    const StateId state = table_.allowed(parent).has(node.byte) ? table_.step(parent, node.byte) : 0;
    if (state == 0) {
      i = node.skip;
      continue;
    }
    trie_.set_tokens(node, row);
    path_[node.depth] = state;
    ++i;
  }
}

}  // namespace tally::grammar
