#include "text/grammar/spelling.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tally::grammar {
namespace {

// How characters are spelled: a tree over bytes whose leaves are the classes of an automaton.
struct SpellingTree {
  struct Edge {
    int first, last;  // bytes
    bool leaf;
    int to;  // class or node
  };
  std::vector<std::vector<Edge>> nodes;
};

class TreeBuilder {
 public:
  explicit TreeBuilder(const SymbolDfa& dfa) : dfa_(dfa) {}

  SpellingTree build() {
    tree_.nodes.emplace_back();
    std::vector<SpellingTree::Edge> root;
    for (int c = 0x20; c < 0x80; ++c)
      if (c != '"' && c != '\\') push(root, c, c, true, dfa_.class_of(static_cast<uint32_t>(c)));
    const int escapes = static_cast<int>(tree_.nodes.size());
    tree_.nodes.emplace_back();
    root.push_back({'\\', '\\', false, escapes});
    for (int b = 0xC2; b <= 0xDF; ++b) push(root, b, b, false, tail(static_cast<uint32_t>(b & 0x1F), 1));
    for (int b = 0xE0; b <= 0xEF; ++b) push(root, b, b, false, tail(static_cast<uint32_t>(b & 0x0F), 2));
    for (int b = 0xF0; b <= 0xF4; ++b) push(root, b, b, false, tail(static_cast<uint32_t>(b & 0x07), 3));
    std::sort(root.begin(), root.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
    tree_.nodes[0] = std::move(root);
    add_escapes(escapes);
    return std::move(tree_);
  }

 private:
  static void push(std::vector<SpellingTree::Edge>& edges, int first, int last, bool leaf, int to) {
    if (!edges.empty() && edges.back().last + 1 == first && edges.back().leaf == leaf && edges.back().to == to) {
      edges.back().last = last;
    } else {
      edges.push_back({first, last, leaf, to});
    }
  }

  // The node of the continuation bytes of characters prefix·64^n …; equal nodes are one.
  int tail(uint32_t prefix, int n) {
    const int uniform = class_if_uniform(prefix << (6 * n), ((prefix + 1) << (6 * n)) - 1);
    const bool special = n > 1 && (prefix == 0 || (n == 2 && prefix == 0xD) || (n == 3 && prefix == 4));
    if (uniform >= 0 && !special) {
      auto it = uniform_.find({n, uniform});
      if (it != uniform_.end()) return it->second;
    }
    std::vector<SpellingTree::Edge> edges;
    for (int b = 0; b < 64; ++b) {
      const uint32_t c = prefix << 6 | static_cast<uint32_t>(b);
      if (n == 1) {
        push(edges, 0x80 + b, 0x80 + b, true, dfa_.class_of(c));
        continue;
      }
      const uint32_t first = c << (6 * (n - 1));
      if (n == 2 && (first < 0x800 || (first >= 0xD800 && first <= 0xDFFF)) && special) continue;
      if (n == 3 && (first < 0x10000 || first > kLastChar)) continue;
      push(edges, 0x80 + b, 0x80 + b, false, tail(c, n - 1));
    }
    tree_.nodes.push_back(std::move(edges));
    const int id = static_cast<int>(tree_.nodes.size()) - 1;
    if (uniform >= 0 && !special) uniform_[{n, uniform}] = id;
    return id;
  }

  int class_if_uniform(uint32_t first, uint32_t last) const {
    size_t i =
        static_cast<size_t>(std::upper_bound(dfa_.starts.begin(), dfa_.starts.end(), first) - dfa_.starts.begin());
    if (i < dfa_.starts.size() && dfa_.starts[i] <= last) return -1;
    return dfa_.classes[i - 1];
  }

  int add(std::vector<SpellingTree::Edge> edges) {
    tree_.nodes.push_back(std::move(edges));
    return static_cast<int>(tree_.nodes.size()) - 1;
  }

  void add_escapes(int node) {
    static constexpr std::string_view letters = "\"\\bfnrt", meant = "\"\\\b\f\n\r\t";
    std::vector<SpellingTree::Edge> edges;
    for (size_t i = 0; i < letters.size(); ++i)
      edges.push_back({letters[i], letters[i], true, dfa_.class_of(static_cast<uint8_t>(meant[i]))});
    int digits[2];
    for (int high = 0; high < 2; ++high) {
      std::vector<SpellingTree::Edge> last;
      for (int low = 0; low < 16; ++low) {
        const int c = high * 16 + low;
        if (meant.find(static_cast<char>(c)) != std::string_view::npos) continue;  // has a short escape
        const int cls = dfa_.class_of(static_cast<uint32_t>(c));
        if (low < 10) {
          push(last, '0' + low, '0' + low, true, cls);
        } else {
          last.push_back({'A' + low - 10, 'A' + low - 10, true, cls});
          last.push_back({'a' + low - 10, 'a' + low - 10, true, cls});
        }
      }
      digits[high] = add(std::move(last));
    }
    int tens = add({{'0', '0', false, digits[0]}, {'1', '1', false, digits[1]}});
    int zeros = add({{'0', '0', false, add({{'0', '0', false, tens}})}});
    edges.push_back({'u', 'u', false, zeros});
    tree_.nodes[node] = std::move(edges);
  }

  const SymbolDfa& dfa_;
  SpellingTree tree_;
  std::map<std::pair<int, int>, int> uniform_;
};

// Groups the bytes that every node treats alike.
void classify(const SpellingTree& tree, Dfa& out) {
  std::vector<std::vector<int>> signature(256);
  for (size_t n = 0; n < tree.nodes.size(); ++n) {
    for (const auto& e : tree.nodes[n]) {
      for (int b = e.first; b <= e.last; ++b) {
        signature[b].push_back(static_cast<int>(n));
        signature[b].push_back(e.leaf ? e.to : -1 - e.to);
      }
    }
  }
  signature['"'].push_back(-1);  // the end of the string
  std::map<std::vector<int>, int> ids;
  for (int b = 0; b < 256; ++b)
    out.class_of[b] = static_cast<uint8_t>(ids.try_emplace(signature[b], static_cast<int>(ids.size())).first->second);
  out.n_classes = static_cast<int>(ids.size());
}

class StringSpeller {
 public:
  StringSpeller(const SymbolDfa& dfa, bool quotes, Budget& budget) : dfa_(dfa), quotes_(quotes), budget_(budget) {
    tree_ = TreeBuilder(dfa).build();
    budget_.spend(tree_.nodes.size() * 4);
    classify(tree_, out_);
  }

  std::shared_ptr<const Dfa> run() {
    useful_ = dfa_.useful();
    if (!useful_[dfa_.start]) return nullptr;
    id_of_.assign(dfa_.n_states(), -1);
    int opening = quotes_ ? new_state(false) : -1;
    if (quotes_) closing_ = new_state(true);
    visit(dfa_.start);
    for (size_t i = 0; i < order_.size(); ++i) {
      const int q = order_[i];
      budget_.check_states(out_.accepting.size());
      std::vector<int32_t> row = transitions(q, 0);
      if (quotes_ && dfa_.accepting[q]) row[out_.class_of['"']] = closing_;
      std::copy(row.begin(), row.end(), out_.next.begin() + static_cast<ptrdiff_t>(id_of_[q]) * out_.n_classes);
    }
    if (quotes_) {
      out_.next[static_cast<size_t>(opening) * out_.n_classes + out_.class_of['"']] = id_of_[dfa_.start];
      out_.start = opening;
    } else {
      out_.start = id_of_[dfa_.start];
    }
    return std::make_shared<const Dfa>(std::move(out_));
  }

 private:
  int new_state(bool accepting) {
    out_.accepting.push_back(accepting);
    out_.next.resize(out_.next.size() + out_.n_classes, -1);
    return out_.n_states() - 1;
  }
  int visit(int q) {
    if (!useful_[q]) return -1;
    if (id_of_[q] < 0) {
      id_of_[q] = new_state(!quotes_ && dfa_.accepting[q]);
      order_.push_back(q);
    }
    return id_of_[q];
  }

  // The row of state q inside the spelling node; nodes nest at most six deep.
  std::vector<int32_t> transitions(int q, int node) {
    std::vector<int32_t> row(out_.n_classes, -1);
    budget_.spend(tree_.nodes[node].size() + 1);
    for (const auto& e : tree_.nodes[node]) {
      int to = e.leaf ? visit(dfa_.step(q, e.to)) : inner(q, e.to);
      for (int b = e.first; b <= e.last; ++b) row[out_.class_of[b]] = to;
    }
    return row;
  }

  int inner(int q, int node) {
    std::vector<int32_t> row = transitions(q, node);
    if (std::all_of(row.begin(), row.end(), [](int32_t t) { return t < 0; })) return -1;
    auto [it, fresh] = inner_.try_emplace(row, 0);
    if (fresh) {
      it->second = new_state(false);
      std::copy(row.begin(), row.end(), out_.next.begin() + static_cast<ptrdiff_t>(it->second) * out_.n_classes);
    }
    return it->second;
  }

  const SymbolDfa& dfa_;
  bool quotes_;
  Budget& budget_;
  SpellingTree tree_;
  Dfa out_;
  int closing_ = -1;
  std::vector<uint8_t> useful_;
  std::vector<int> id_of_, order_;
  std::map<std::vector<int32_t>, int> inner_;
};

SymbolDfa any_text(bool one_char) {
  SymbolDfa d;
  d.accepting = one_char ? std::vector<uint8_t>{0, 1, 0} : std::vector<uint8_t>{1};
  d.next = one_char ? std::vector<int32_t>{1, 2, 2} : std::vector<int32_t>{0};
  return d;
}

// A hand-written automaton: rows of (from, bytes, to).
std::shared_ptr<const Dfa> from_table(int n_states, std::vector<int> accepting,
                                      std::initializer_list<std::tuple<int, std::string_view, int>> rows) {
  Dfa d;
  std::map<uint8_t, int> classes;
  for (const auto& [from, bytes, to] : rows)
    for (char c : bytes) classes.try_emplace(static_cast<uint8_t>(c), static_cast<int>(classes.size()) + 1);
  for (auto [b, c] : classes) d.class_of[b] = static_cast<uint8_t>(c);
  d.n_classes = static_cast<int>(classes.size()) + 1;
  d.next.assign(static_cast<size_t>(n_states) * d.n_classes, -1);
  d.accepting.assign(n_states, 0);
  for (int q : accepting) d.accepting[q] = 1;
  for (const auto& [from, bytes, to] : rows)
    for (char c : bytes) d.next[static_cast<size_t>(from) * d.n_classes + d.class_of[static_cast<uint8_t>(c)]] = to;
  return std::make_shared<const Dfa>(std::move(d));
}

}  // namespace

std::shared_ptr<const Dfa> spell_string(const SymbolDfa& values, bool quotes, Budget& budget) {
  return StringSpeller(values, quotes, budget).run();
}

std::shared_ptr<const Dfa> spell_ascii(const SymbolDfa& texts, Budget& budget) {
  const std::vector<uint8_t> useful = texts.useful();
  if (!useful[texts.start]) return nullptr;
  Dfa d;
  const int none = texts.n_classes;  // bytes beyond ASCII
  d.n_classes = none + 1;
  for (int b = 0; b < 256; ++b)
    d.class_of[b] = static_cast<uint8_t>(b < 128 ? texts.class_of(static_cast<uint32_t>(b)) : none);
  std::vector<int> id(texts.n_states(), -1), order;
  auto visit = [&](int q) {
    if (!useful[q]) return -1;
    if (id[q] < 0) {
      id[q] = static_cast<int>(order.size());
      order.push_back(q);
    }
    return id[q];
  };
  visit(texts.start);
  for (size_t i = 0; i < order.size(); ++i) {
    budget.spend(static_cast<uint64_t>(d.n_classes));
    for (int c = 0; c < none; ++c) d.next.push_back(visit(texts.step(order[i], c)));
    d.next.push_back(-1);
    d.accepting.push_back(texts.accepting[order[i]]);
  }
  d.start = 0;
  return std::make_shared<const Dfa>(std::move(d));
}

std::shared_ptr<const Dfa> spell_words(const std::vector<std::string>& sorted, Budget& budget) {
  WordGraph graph;
  std::vector<uint32_t> word;
  Dfa d;
  std::array<bool, 256> seen{};
  for (const std::string& s : sorted) {
    budget.spend(s.size() / 4 + 1);
    word.clear();
    for (char c : s) {
      word.push_back(static_cast<uint8_t>(c));
      seen[static_cast<uint8_t>(c)] = true;
    }
    graph.add(word);
  }
  graph.finish();
  for (int b = 0; b < 256; ++b)
    if (seen[b]) d.class_of[b] = static_cast<uint8_t>(d.n_classes++);  // UTF-8 never has all 256
  const size_t n = graph.states().size(), most = 8u << 20;
  if (n * d.n_classes > most)
    throw ConstraintError(budget.path, "the values of an enum need too large an automaton", most, n * d.n_classes);
  d.next.assign(n * d.n_classes, -1);
  for (size_t q = 0; q < n; ++q) {
    d.accepting.push_back(graph.states()[q].accepting);
    for (auto [c, to] : graph.states()[q].edges) d.next[q * d.n_classes + d.class_of[c]] = to;
  }
  d.start = graph.root();
  return std::make_shared<const Dfa>(std::move(d));
}

std::string quoted(std::string_view s) {
  static constexpr std::string_view letters = "\"\\bfnrt", meant = "\"\\\b\f\n\r\t";
  std::string out = "\"";
  for (char c : s) {
    if (size_t i = meant.find(c); i != std::string_view::npos) {
      out += '\\';
      out += letters[i];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::shared_ptr<const Dfa> free_string() {
  static const auto dfa = [] {
    Budget budget;
    return spell_string(any_text(false), true, budget);
  }();
  return dfa;
}

std::shared_ptr<const Dfa> free_string_char() {
  static const auto dfa = [] {
    Budget budget;
    return spell_string(any_text(true), false, budget);
  }();
  return dfa;
}

std::shared_ptr<const Dfa> free_number() {
  static const auto dfa = from_table(9, {2, 3, 5, 8},
                                     {{0, "-", 1},
                                      {0, "0", 2},
                                      {0, "123456789", 3},
                                      {1, "0", 2},
                                      {1, "123456789", 3},
                                      {3, "0123456789", 3},
                                      {2, ".", 4},
                                      {3, ".", 4},
                                      {4, "0123456789", 5},
                                      {5, "0123456789", 5},
                                      {2, "eE", 6},
                                      {3, "eE", 6},
                                      {5, "eE", 6},
                                      {6, "+-", 7},
                                      {6, "0123456789", 8},
                                      {7, "0123456789", 8},
                                      {8, "0123456789", 8}});
  return dfa;
}

std::shared_ptr<const Dfa> free_integer() {
  static const auto dfa =
      from_table(4, {2, 3}, {{0, "-", 1}, {0, "0", 2}, {0, "123456789", 3}, {1, "123456789", 3}, {3, "0123456789", 3}});
  return dfa;
}

}  // namespace tally::grammar
