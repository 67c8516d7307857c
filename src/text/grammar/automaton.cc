#include "text/grammar/automaton.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/check.h"
#include "text/grammar/automaton_order.h"
#include "text/grammar/constraint_error.h"

namespace tally::grammar {

// Gives every node that can be reached its instructions; each is told where it stands and what comes next, so the order
// of the work does not matter and nothing recurses.
class AutomatonBuilder {
 public:
  explicit AutomatonBuilder(const Rules& rules) : rules_(rules), analysis_(analyse(rules)) {}

  std::shared_ptr<const Automaton> build() {
    const NodeId root = rules_.root();
    CHECK(root.id >= 0, "rules without a root");
    if (!analysis_.productive[root.id])
      throw ConstraintError("unsatisfiable", "", "no finite text obeys it: every way through needs itself again");
    out_->instrs_.resize(3);
    out_->instrs_[Automaton::kReturn].op = InstrOp::Return;
    out_->instrs_[Automaton::kReturn].may_end = true;
    out_->instrs_[Automaton::kEnd].op = InstrOp::End;
    resolved_.assign(rules_.n_nodes(), -2);
    routine_.assign(rules_.n_nodes(), 0);
    work_.push_back({root.id, Automaton::kFirst, Automaton::kReturn});
    while (!work_.empty()) {
      Task t = work_.back();
      work_.pop_back();
      emit(t);
    }
    for (auto& [at, node] : skips_) out_->instrs_[at].skip = analysis_.nullable[node];
    order_instructions(out_->instrs_, rule_names_, out_->members_, out_->group_begin_);
    return out_;
  }

 private:
  struct Task {
    int node;
    uint32_t at, next;
  };

  // Follows references; −1: no text comes of it.
  int resolve(int node) {
    std::vector<int> path;
    while (resolved_[node] == -2 && rules_.node({node}).kind == NodeKind::Ref && analysis_.productive[node]) {
      path.push_back(node);
      node = rules_.body_of({static_cast<int>(rules_.node({node}).first)}).id;
    }
    int to = resolved_[node] != -2 ? resolved_[node] : analysis_.productive[node] ? node : -1;
    for (int p : path) {
      resolved_[p] = to;
      // What only this path leads to counts as referred to as often as the path's beginning.
      if (to >= 0 && analysis_.referred[p] > 1) analysis_.referred[to] = std::max(analysis_.referred[to], 2u);
      names_.try_emplace(to, static_cast<int>(rules_.node({p}).first));
    }
    return to;
  }

  uint32_t reserve(uint32_t n) {
    const size_t at = out_->instrs_.size();
    if (at + n > Automaton::kMaxInstrs)
      throw ConstraintError("",
                            fmt::format("compiled form of more than {} instructions; simplify the schema or grammar",
                                        Automaton::kMaxInstrs),
                            Automaton::kMaxInstrs, at + n);
    out_->instrs_.resize(at + n);
    return static_cast<uint32_t>(at);
  }
  Instr& instr(uint32_t at) { return out_->instrs_[at]; }
  void jump(uint32_t at, uint32_t next) {
    instr(at).op = InstrOp::Jump;
    instr(at).next = next;
  }

  std::string_view keep(std::string_view bytes) {
    if (out_->texts_.empty() || out_->texts_.back().capacity() - out_->texts_.back().size() < bytes.size()) {
      out_->texts_.emplace_back();
      out_->texts_.back().reserve(std::max<size_t>(1024, bytes.size()));
    }
    std::string& text = out_->texts_.back();
    const size_t at = text.size();
    text += bytes;
    return std::string_view(text).substr(at);
  }
  uint32_t add_terminal(Terminal t) {
    out_->terminals_.push_back(std::move(t));
    return static_cast<uint32_t>(out_->terminals_.size()) - 1;
  }
  uint32_t terminal_of(const Node& node) {
    if (node.kind == NodeKind::Literal) return add_terminal(Terminal::of_literal(keep(rules_.bytes_of(node))));
    const void* key = node.kind == NodeKind::Set ? static_cast<const void*>(&rules_.set_of(node))
                                                 : static_cast<const void*>(rules_.dfa_of(node).get());
    auto [found, fresh] = terminal_ids_.try_emplace(key, 0);
    if (fresh)
      found->second = add_terminal(
          Terminal::of_dfa(node.kind == NodeKind::Set ? dfa_of_set(rules_.set_of(node)) : rules_.dfa_of(node)));
    return found->second;
  }

  static bool is_terminal(NodeKind kind) {
    return kind == NodeKind::Literal || kind == NodeKind::Set || kind == NodeKind::Terminal;
  }

  void put_terminal(uint32_t at, uint32_t terminal, uint32_t next) {
    Instr& i = instr(at);
    const Terminal& t = out_->terminals_[terminal];
    if (!t.has_edges(t.start())) return jump(at, next);  // nothing but the empty text
    i.op = InstrOp::Term;
    i.skip = t.empty_text();
    i.a = terminal, i.next = next;
  }

  // The instruction where the rule made of `node` begins.
  uint32_t routine(int node) {
    if (routine_[node] == 0) {
      routine_[node] = reserve(1);
      if (auto name = names_.find(node); name != names_.end())
        rule_names_.emplace(routine_[node], rules_.name_of({name->second}));
      bodies_.push_back(node);
      work_.push_back({node, routine_[node], Automaton::kReturn});
      in_routine_.insert({routine_[node], node});
    }
    return routine_[node];
  }

  void emit(const Task& t) {
    const int id = resolve(t.node);
    CHECK(id >= 0);
    const Node& node = rules_.node({id});
    if (node.kind == NodeKind::Empty) return jump(t.at, t.next);
    if (is_terminal(node.kind)) return put_terminal(t.at, terminal_of(node), t.next);
    if (analysis_.referred[id] > 1 && !is_body(t, id)) {
      const uint32_t entry = routine(id);
      Instr& i = instr(t.at);
      i.a = entry, i.next = t.next;
      i.op = t.next == Automaton::kReturn ? InstrOp::Tail : InstrOp::Call;
      skips_.push_back({t.at, id});
      return;
    }
    if (node.kind == NodeKind::Sequence) return emit_sequence(node, t);
    if (node.kind == NodeKind::Alternatives) return emit_alternatives(node, t);
    CHECK(node.kind == NodeKind::Repeat);
    emit_repeat(node, t);
  }
  bool is_body(const Task& t, int id) const {
    auto found = in_routine_.find(t.at);
    return found != in_routine_.end() && found->second == id;
  }

  void emit_sequence(const Node& node, const Task& t) {
    uint32_t at = t.at;
    std::string text;  // literals side by side become one
    const auto flush = [&](uint32_t next) {
      put_terminal(at, add_terminal(Terminal::of_literal(keep(text))), next);
      text.clear();
    };
    int pending = -1;  // a part whose continuation is not known yet
    const auto advance = [&] {
      if (text.empty() && pending < 0) return;
      const uint32_t next = reserve(1);
      if (!text.empty())
        flush(next);
      else
        work_.push_back({pending, at, next}), pending = -1;
      at = next;
    };
    for (uint32_t i = 0; i < node.n; ++i) {
      const int part = resolve(rules_.child(node, i).id);
      CHECK(part >= 0);
      const Node& p = rules_.node({part});
      if (p.kind == NodeKind::Empty) continue;
      if (p.kind == NodeKind::Literal) {
        if (pending >= 0) advance();
        text += rules_.bytes_of(p);
        continue;
      }
      advance();
      pending = part;
    }
    if (!text.empty())
      flush(t.next);
    else if (pending >= 0)
      work_.push_back({pending, at, t.next});
    else
      jump(at, t.next);
  }

  void emit_alternatives(const Node& node, const Task& t) {
    std::vector<std::string_view> literals;
    std::vector<int> others;
    ByteSet set;
    int n_sets = 0;
    for (uint32_t i = 0; i < node.n; ++i) {
      const int part = resolve(rules_.child(node, i).id);
      if (part < 0) continue;
      const Node& p = rules_.node({part});
      if (p.kind == NodeKind::Literal) {
        literals.push_back(rules_.bytes_of(p));
      } else if (p.kind == NodeKind::Set) {
        for (int w = 0; w < 4; ++w) set.bits[w] |= rules_.set_of(p).bits[w];
        ++n_sets;
      } else {
        others.push_back(part);
      }
    }
    const uint32_t n = static_cast<uint32_t>(others.size()) + !literals.empty() + (n_sets > 0);
    const uint32_t first = n == 1 ? t.at : reserve(n);
    uint32_t at = first;
    for (int part : others) work_.push_back({part, at++, t.next});
    if (literals.size() == 1) put_terminal(at++, add_terminal(Terminal::of_literal(keep(literals[0]))), t.next);
    if (literals.size() > 1) put_terminal(at++, add_terminal(Terminal::of_literals(literals)), t.next);
    if (n_sets > 0) put_terminal(at++, add_terminal(Terminal::of_dfa(dfa_of_set(set))), t.next);
    if (n == 1) return;
    instr(t.at).op = InstrOp::Alt;
    instr(t.at).a = first, instr(t.at).n = n;
  }

  void emit_repeat(const Node& node, const Task& t) {
    const int part = resolve(static_cast<int>(node.first));
    if (part < 0) return jump(t.at, t.next);  // none of them
    const bool nullable = analysis_.nullable[part];
    const uint64_t min = nullable ? 0 : node.min;  // empty ones fill up
    if (node.max == 1) {
      if (min == 1) return work_.push_back({part, t.at, t.next});
      const uint32_t first = reserve(2);
      instr(t.at).op = InstrOp::Alt;
      instr(t.at).a = first, instr(t.at).n = 2;
      work_.push_back({part, first, t.next});
      return jump(first + 1, t.next);
    }
    const Node& p = rules_.node({part});
    if (p.kind == NodeKind::Empty) return jump(t.at, t.next);
    uint32_t a = 0;
    bool counted = false;
    if (is_terminal(p.kind)) {
      a = terminal_of(p);
      counted = out_->terminals_[a].prefix_free();
    }
    if (!counted) a = routine(part);
    Instr& i = instr(t.at);
    i.op = counted ? InstrOp::Counted : InstrOp::Loop;
    i.a = a, i.next = t.next;
    i.min = min, i.max = node.max;
    i.skip = min == 0;
  }

  const Rules& rules_;
  RulesAnalysis analysis_;
  std::shared_ptr<Automaton> out_ = std::make_shared<Automaton>();
  std::vector<Task> work_;
  std::vector<int> resolved_, bodies_;
  std::vector<uint32_t> routine_;
  std::vector<std::pair<uint32_t, int>> skips_;
  std::unordered_map<const void*, uint32_t> terminal_ids_;
  std::unordered_map<uint32_t, int> in_routine_;
  std::unordered_map<int, int> names_;                    // node → rule
  std::unordered_map<uint32_t, std::string> rule_names_;  // first instruction → name
};

std::shared_ptr<const Automaton> Automaton::compile(const Rules& rules) { return AutomatonBuilder(rules).build(); }

uint64_t Automaton::memory_bytes() const {
  uint64_t bytes = instrs_.size() * sizeof(Instr) + (members_.size() + group_begin_.size()) * 4;
  for (const std::string& text : texts_) bytes += text.capacity();
  for (const Terminal& t : terminals_) bytes += t.memory_bytes() - (t.is_literal() ? t.literal().size() : 0);
  return bytes;
}

}  // namespace tally::grammar
