#include "text/grammar/schema_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/grammar/constraint_error.h"
#include "text/grammar/utf8_text.h"

namespace tally::grammar {

const char* name_of(JsonKind kind) {
  static const char* const names[] = {"null", "false", "true", "a number", "a string", "an array", "an object"};
  return names[static_cast<int>(kind)];
}

class JsonReader {
 public:
  JsonReader(std::string_view text, const JsonLimits& limits) : text_(text), limits_(limits) {}

  JsonDocument run() {
    if (text_.size() > limits_.max_bytes) {
      throw ConstraintError("", fmt::format("the schema has {} bytes; {} are allowed", text_.size(), limits_.max_bytes),
                            limits_.max_bytes, text_.size());
    }
    doc_.pool_.reserve(text_.size());
    for (;;) {
      blanks();
      if (open_.empty() || !closed_or_at_child()) value();
      if (open_.empty()) break;
    }
    blanks();
    if (at_ != text_.size()) bad("text after the value");
    return std::move(doc_);
  }

 private:
  struct Open {
    int node;
    size_t first_pending;  // of its children in pending_
    bool any = false;      // a child has been read or begun
  };

  [[noreturn]] void bad(const std::string& what) const {
    throw ConstraintError("not_json", "", fmt::format("the schema is not JSON: {} at byte {}", what, at_));
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  // Reads what stands before a child: a comma, a key. True when the container ended instead.
  bool closed_or_at_child() {
    Open& o = open_.back();
    const bool object = doc_.nodes_[o.node].kind == JsonKind::Object;
    if (at_ >= text_.size()) bad("it ends inside a container");
    if (peek() == (object ? '}' : ']')) {
      ++at_;
      close();
      return true;
    }
    if (o.any) {
      if (peek() != ',') bad("expected a comma or the end of the container");
      ++at_;
      blanks();
    }
    if (object) {
      if (peek() != '"') bad("expected a key");
      auto [first, n] = string();
      key_first_ = first;
      key_n_ = n;
      blanks();
      if (peek() != ':') bad("expected ':'");
      ++at_;
      blanks();
    }
    o.any = true;
    return false;
  }

  void close() {
    const Open o = open_.back();
    open_.pop_back();
    JsonDocument::Node& node = doc_.nodes_[o.node];
    node.first = static_cast<uint32_t>(doc_.children_.size());
    node.n = static_cast<int>(pending_.size() - o.first_pending);
    for (int i = 0; i < node.n; ++i) {
      int child = pending_[o.first_pending + i];
      doc_.nodes_[child].slot = i;
      doc_.children_.push_back(child);
    }
    pending_.resize(o.first_pending);
    if (node.kind == JsonKind::Object) refuse_repeated_keys(o.node);
  }

  void refuse_repeated_keys(int object) {
    const int n = doc_.size(object);
    keys_.clear();
    for (int i = 0; i < n; ++i) keys_.push_back(doc_.key(object, i));
    std::sort(keys_.begin(), keys_.end());
    auto twice = std::adjacent_find(keys_.begin(), keys_.end());
    if (twice == keys_.end()) return;
    const std::string key(*twice);
    throw ConstraintError(
        "invalid_schema", doc_.pointer(object),
        fmt::format("the key \"{}\" stands twice in one object; keep one of them", key.substr(0, 80)));
  }

  int add(JsonKind kind) {
    JsonDocument::Node node;
    node.kind = kind;
    if (!open_.empty()) {
      node.parent = open_.back().node;
      node.key_first = key_first_;
      node.key_n = key_n_;
      key_first_ = key_n_ = 0;
    }
    doc_.nodes_.push_back(node);
    int id = static_cast<int>(doc_.nodes_.size()) - 1;
    if (!open_.empty()) pending_.push_back(id);
    return id;
  }

  void value() {
    if (at_ >= text_.size()) bad(doc_.nodes_.empty() ? "it is empty" : "it ends where a value is expected");
    char c = peek();
    if (c == '{' || c == '[') {
      int id = add(c == '{' ? JsonKind::Object : JsonKind::Array);
      open_.push_back({id, pending_.size()});
      if (open_.size() > limits_.max_depth) {
        throw ConstraintError("", fmt::format("the schema is nested deeper than {} levels", limits_.max_depth),
                              limits_.max_depth, open_.size());
      }
      ++at_;
    } else if (c == '"') {
      int id = add(JsonKind::String);
      auto [first, n] = string();
      doc_.nodes_[id].first = first;
      doc_.nodes_[id].n = static_cast<int>(n);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      number();
    } else if (!word("true", JsonKind::True) && !word("false", JsonKind::False) && !word("null", JsonKind::Null)) {
      bad("expected a value");
    }
  }

  bool word(std::string_view w, JsonKind kind) {
    if (text_.substr(at_, w.size()) != w) return false;
    add(kind);
    at_ += w.size();
    return true;
  }

  bool digits() {
    size_t from = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > from;
  }

  void number() {
    int id = add(JsonKind::Number);
    size_t from = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else if (!digits()) {
      bad("a number without digits");
    }
    if (peek() == '.') {
      ++at_;
      if (!digits()) bad("a fraction without digits");
    }
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digits()) bad("an exponent without digits");
    }
    doc_.nodes_[id].first = static_cast<uint32_t>(doc_.pool_.size());
    doc_.nodes_[id].n = static_cast<int>(at_ - from);
    doc_.pool_.insert(doc_.pool_.end(), text_.begin() + from, text_.begin() + at_);
  }

  std::pair<uint32_t, uint32_t> string() {
    uint32_t first = static_cast<uint32_t>(doc_.pool_.size());
    ++at_;
    for (;;) {
      if (at_ >= text_.size()) bad("it ends inside a string");
      unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') break;
      if (c < 0x20) bad("a raw control character in a string");
      if (c == '\\') {
        escape();
      } else if (c < 0x80) {
        doc_.pool_.push_back(text_[at_++]);
      } else {
        size_t n = 0;
        if (!decode_utf8(text_.substr(at_), &n)) bad("invalid UTF-8");
        doc_.pool_.insert(doc_.pool_.end(), text_.begin() + at_, text_.begin() + at_ + n);
        at_ += n;
      }
    }
    ++at_;
    return {first, static_cast<uint32_t>(doc_.pool_.size()) - first};
  }

  uint32_t hex4() {
    uint32_t v = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      char c = peek();
      int d = c >= '0' && c <= '9'   ? c - '0'
              : c >= 'a' && c <= 'f' ? c - 'a' + 10
              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                     : -1;
      if (d < 0) bad("\\u without four hex digits");
      v = v * 16 + static_cast<uint32_t>(d);
    }
    return v;
  }

  void escape() {
    static constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
    ++at_;
    char c = peek();
    if (size_t i = from.find(c); c != '\0' && i != std::string_view::npos) {
      doc_.pool_.push_back(to[i]);
      ++at_;
      return;
    }
    if (c != 'u') bad("an unknown escape");
    ++at_;
    uint32_t cp = hex4();
    if (cp >= 0xD800 && cp < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      uint32_t low = hex4();
      if (low < 0xDC00 || low > 0xDFFF) bad("half a surrogate pair, which UTF-8 cannot hold,");
      cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
    } else if (cp >= 0xD800 && cp <= 0xDFFF) {
      bad("half a surrogate pair, which UTF-8 cannot hold,");
    }
    std::string bytes;
    append_utf8(bytes, cp);
    doc_.pool_.insert(doc_.pool_.end(), bytes.begin(), bytes.end());
  }

  std::string_view text_;
  JsonLimits limits_;
  size_t at_ = 0;
  JsonDocument doc_;
  std::vector<Open> open_;
  std::vector<int> pending_;
  std::vector<std::string_view> keys_;
  uint32_t key_first_ = 0, key_n_ = 0;
};

JsonDocument JsonDocument::parse(std::string_view text, const JsonLimits& limits) {
  return JsonReader(text, limits).run();
}

int JsonDocument::find(int object, std::string_view key) const {
  const int n = size(object);
  if (n <= 16) {
    for (int i = 0; i < n; ++i)
      if (this->key(object, i) == key) return child(object, i);
    return -1;
  }
  auto [it, fresh] = indexes_.try_emplace(object);
  if (fresh) {
    it->second.reserve(n);
    for (int i = 0; i < n; ++i) it->second.emplace(this->key(object, i), child(object, i));
  }
  auto found = it->second.find(key);
  return found == it->second.end() ? -1 : found->second;
}

std::string JsonDocument::pointer(int v) const {
  std::vector<int> path;
  for (; v != root_ && v >= 0; v = nodes_[v].parent) path.push_back(v);
  std::string out;
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    out += '/';
    if (!is(nodes_[*it].parent, JsonKind::Object)) {
      out += std::to_string(nodes_[*it].slot);
      continue;
    }
    for (char c : key_of(*it)) {
      if (c == '~') {
        out += "~0";
      } else if (c == '/') {
        out += "~1";
      } else {
        out += c;
      }
    }
  }
  return out;
}

}  // namespace tally::grammar
