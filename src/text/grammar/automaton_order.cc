#include "text/grammar/automaton_order.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/grammar/constraint_error.h"

namespace tally::grammar {

namespace {

// The i-th instruction that `from` reaches without a byte, or −1 after the last; `framed`: with a frame pushed.
int64_t edge(const Instr& from, uint32_t i, bool& framed) {
  framed = false;
  switch (from.op) {
    case InstrOp::Term:
    case InstrOp::Counted:
      return from.skip && i == 0 ? int64_t(from.next) : -1;
    case InstrOp::Alt:
      return i < from.n ? int64_t(from.a) + i : -1;
    case InstrOp::Jump:
      return i == 0 ? int64_t(from.next) : -1;
    case InstrOp::Tail:
      return i == 0 ? int64_t(from.a) : -1;
    case InstrOp::Call:
    case InstrOp::Loop:
      framed = i == 0;
      return i == 0 ? int64_t(from.a) : from.skip && i == 1 ? int64_t(from.next) : -1;
    default:
      return -1;
  }
}

void shorten_jumps(std::vector<Instr>& instrs) {
  const auto target = [&](uint32_t at) {
    uint32_t to = at;
    while (instrs[to].op == InstrOp::Jump) to = instrs[to].next;
    while (instrs[at].op == InstrOp::Jump) {
      const uint32_t next = instrs[at].next;
      instrs[at].next = to;
      at = next;
    }
    return to;
  };
  for (Instr& i : instrs) {
    if (i.op == InstrOp::Return || i.op == InstrOp::End) continue;
    if (i.op != InstrOp::Alt && i.op != InstrOp::Tail) i.next = target(i.next);
    if (i.op == InstrOp::Call || i.op == InstrOp::Tail || i.op == InstrOp::Loop) i.a = target(i.a);
  }
}

// Components in the order in which they are complete: what they reach comes before them.
std::vector<std::vector<uint32_t>> components(const std::vector<Instr>& instrs) {
  const uint32_t n = static_cast<uint32_t>(instrs.size());
  std::vector<std::vector<uint32_t>> out;
  std::vector<uint32_t> index(n, 0), low(n, 0), stack;
  std::vector<uint8_t> on_stack(n, 0);
  struct Visit {
    uint32_t node, edge;
  };
  std::vector<Visit> path;
  uint32_t counter = 0;
  const auto enter = [&](uint32_t v) {
    index[v] = low[v] = ++counter;
    stack.push_back(v), on_stack[v] = 1;
    path.push_back({v, 0});
  };
  for (uint32_t root = 0; root < n; ++root) {
    if (index[root] == 0) enter(root);
    while (!path.empty()) {
      Visit& visit = path.back();
      bool framed;
      const uint32_t v = visit.node;
      const int64_t to = edge(instrs[v], visit.edge++, framed);
      if (to >= 0) {
        const uint32_t w = static_cast<uint32_t>(to);
        if (index[w] == 0)
          enter(w);
        else if (on_stack[w])
          low[v] = std::min(low[v], index[w]);
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back().node] = std::min(low[path.back().node], low[v]);
      if (low[v] != index[v]) continue;
      auto from = std::find(stack.rbegin(), stack.rend(), v).base() - 1;
      out.emplace_back(from, stack.end());
      for (uint32_t w : out.back()) on_stack[w] = 0;
      stack.erase(from, stack.end());
    }
  }
  return out;
}

[[noreturn]] void left_recursion(const std::vector<uint32_t>& group,
                                 const std::unordered_map<uint32_t, std::string>& names) {
  std::string name;
  for (uint32_t v : group)
    if (auto found = names.find(v); found != names.end()) name = found->second;
  throw ConstraintError(
      "unsupported", name,
      fmt::format("left recursion{}: a rule begins with itself; write the repetition with * or to the "
                  "right",
                  name.empty() ? "" : fmt::format(" in rule \"{}\"", name)));
}

}  // namespace

void order_instructions(std::vector<Instr>& instrs, const std::unordered_map<uint32_t, std::string>& names,
                        std::vector<uint32_t>& members, std::vector<uint32_t>& group_begin) {
  shorten_jumps(instrs);
  const auto groups = components(instrs);
  const uint32_t n = static_cast<uint32_t>(groups.size());
  for (uint32_t g = 0; g < n; ++g)
    for (uint32_t v : groups[g]) instrs[v].group = n - 1 - g;
  for (const auto& group : groups) {  // what they reach is done already
    bool may_end = false, framed;
    for (uint32_t v : group) {
      may_end = may_end || instrs[v].op == InstrOp::Return;
      for (uint32_t i = 0;; ++i) {
        const int64_t to = edge(instrs[v], i, framed);
        if (to < 0) break;
        if (framed && instrs[to].group == instrs[v].group) left_recursion(group, names);
        if (!framed) may_end = may_end || instrs[to].may_end;
      }
    }
    for (uint32_t v : group) instrs[v].may_end = may_end;
  }
  for (uint32_t g = n; g-- > 0;) {
    group_begin.push_back(static_cast<uint32_t>(members.size()));
    members.insert(members.end(), groups[g].begin(), groups[g].end());
  }
  group_begin.push_back(static_cast<uint32_t>(members.size()));
}

}  // namespace tally::grammar
