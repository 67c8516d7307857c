// A strict reader of JSON text for schemas: keeps the order of keys and the digits of numbers, refuses keys that occur
// twice, halves of surrogate pairs and invalid UTF-8, and never recurses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tally::grammar {

enum class JsonKind : uint8_t { Null, False, True, Number, String, Array, Object };
const char* name_of(JsonKind kind);

struct JsonLimits {
  uint64_t max_bytes = 8u << 20;
  uint64_t max_depth = 512;
};

// A parsed text. Values are numbered; the root is root(). Views stay valid as long as the document, also when moved.
class JsonDocument {
 public:
  // Throws ConstraintError: not_json (with the byte offset), invalid_schema (a key twice), limit.
  static JsonDocument parse(std::string_view text, const JsonLimits& limits);

  int root() const { return root_; }
  JsonKind kind(int v) const { return nodes_[v].kind; }
  bool is(int v, JsonKind k) const { return nodes_[v].kind == k; }
  int size(int v) const { return nodes_[v].n; }  // items of an array, members of an object
  int child(int v, int i) const { return children_[nodes_[v].first + i]; }
  std::string_view key(int v, int i) const { return key_of(child(v, i)); }           // of the object's member i
  std::string_view text(int v) const { return view(nodes_[v].first, nodes_[v].n); }  // String: its value; Number
  int find(int object, std::string_view key) const;                                  // −1: absent
  int parent(int v) const { return nodes_[v].parent; }                               // −1: the root
  std::string pointer(int v) const;  // JSON pointer from the root, "" for the root
  int n_values() const { return static_cast<int>(nodes_.size()); }

 private:
  friend class JsonReader;
  struct Node {
    JsonKind kind = JsonKind::Null;
    int parent = -1;
    int slot = 0;                       // index in the parent
    int n = 0;                          // children, or bytes of the text
    uint32_t first = 0;                 // in children_ or pool_
    uint32_t key_first = 0, key_n = 0;  // member of an object: its name in pool_
  };
  std::string_view view(uint32_t first, uint32_t n) const { return {pool_.data() + first, n}; }
  std::string_view key_of(int v) const { return view(nodes_[v].key_first, nodes_[v].key_n); }

  int root_ = 0;
  std::vector<Node> nodes_;
  std::vector<int> children_;
  std::vector<char> pool_;
  mutable std::unordered_map<int, std::unordered_map<std::string_view, int>> indexes_;  // of wide objects
};

}  // namespace tally::grammar
