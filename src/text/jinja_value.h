// Values of the template language, after Python's model: small ones inline, the rest reference counted. A render owns a
// Heap that counts live bytes; constants of a parsed template are immortal and shared between threads, so that counts
// of a render need no atomics.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "text/jinja_bigint.h"

namespace tally::text::jinja {

enum class Kind : uint8_t {
  Missing,
  None,
  Bool,
  Int,
  Float,  // inline
  Undefined,
  BigInt,
  String,
  List,
  Tuple,
  Dict,
  Range,
  View,
  Namespace,
  Iterator,
  Slice,
  Loop,
  Macro,
  Function,
  Method,
  Cycler,
  Joiner,
  Env
};

class Heap;

struct Object {
  explicit Object(Kind k) : kind(k) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  virtual ~Object() = default;
  // Drops references to other values, so that cycles end; the object stays valid.
  virtual void clear() {}

  Kind kind;
  bool immortal = false;
  bool tracked = false;  // the heap clears it at the end (it may be part of a cycle)
  uint32_t refs = 0;
  Heap* heap = nullptr;
  union {
    uint64_t charged = 0;  // bytes counted by the heap
    Object* next_dead;     // while being destroyed
  };
};

void destroy(Object* object);
void release_object(Object* object);

// A counted pointer to an object of known type.
template <typename T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* p) : p_(p) { retain(); }
  Ref(const Ref& o) : p_(o.p_) { retain(); }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() { release(); }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }

 private:
  void retain() {
    if (p_ && !p_->immortal) ++p_->refs;
  }
  void release() {
    if (p_ && !p_->immortal && --p_->refs == 0) destroy(p_);
  }
  T* p_ = nullptr;
};

class Value {
 public:
  Value() : i_(0) {}
  explicit Value(bool b) : kind_(Kind::Bool), i_(b) {}
  explicit Value(int64_t i) : kind_(Kind::Int), i_(i) {}
  explicit Value(int i) : Value(static_cast<int64_t>(i)) {}
  explicit Value(size_t n) : Value(static_cast<int64_t>(n)) {}
  explicit Value(double d) : kind_(Kind::Float), d_(d) {}
  template <typename T>
  requires std::is_base_of_v<Object, T>
  explicit Value(T* object) : kind_(object->kind), o_(object) { retain(); }
  template <typename T>
  requires std::is_base_of_v<Object, T>
  explicit Value(const Ref<T>& ref) : Value(ref.get()) {}
  template <typename T>
  requires(!std::is_base_of_v<Object, T>) explicit Value(T*) = delete;
  Value(const Value& o) : kind_(o.kind_), i_(o.i_) { retain(); }
  Value(Value&& o) noexcept : kind_(o.kind_), i_(o.i_) { o.kind_ = Kind::Missing; }
  Value& operator=(Value o) noexcept {
    std::swap(kind_, o.kind_);
    std::swap(i_, o.i_);
    return *this;
  }
  ~Value() { release(); }
  static Value none() {
    Value v;
    v.kind_ = Kind::None;
    return v;
  }

  Kind kind() const { return kind_; }
  bool is(Kind k) const { return kind_ == k; }
  bool missing() const { return kind_ == Kind::Missing; }
  bool is_none() const { return kind_ == Kind::None; }
  bool undefined() const { return kind_ == Kind::Undefined; }
  bool is_string() const { return kind_ == Kind::String; }
  bool is_int() const { return kind_ == Kind::Int || kind_ == Kind::Bool || kind_ == Kind::BigInt; }
  bool is_small_int() const { return kind_ == Kind::Int || kind_ == Kind::Bool; }
  bool is_number() const { return is_int() || kind_ == Kind::Float; }
  bool is_sequence() const { return kind_ == Kind::List || kind_ == Kind::Tuple; }
  bool is_object() const { return kind_ >= Kind::Undefined; }

  bool boolean() const { return i_ != 0; }
  int64_t integer() const { return i_; }  // Int and Bool
  double real() const { return d_; }
  Object* object() const { return o_; }
  template <typename T>
  T* as() const {
    return static_cast<T*>(o_);
  }
  // Same object, or same inline value: Python's `is`.
  bool same(const Value& o) const { return kind_ == o.kind_ && i_ == o.i_; }

 private:
  void retain() {
    if (is_object() && !o_->immortal) ++o_->refs;
  }
  void release() {
    if (is_object()) release_object(o_);
  }
  Kind kind_ = Kind::Missing;
  union {
    int64_t i_;
    double d_;
    Object* o_;
  };
};

struct StringObj : Object {
  explicit StringObj(std::string s, bool is_markup = false)
      : Object(Kind::String), text(std::move(s)), markup(is_markup) {}
  // Number of code points (cached; immortal strings have it from the start).
  size_t length();
  bool ascii() { return length() == text.size(); }
  std::string text;  // UTF-8; an invalid byte counts as one character
  int64_t n_chars = -1;
  bool markup;  // markupsafe.Markup: operators and methods escape what is joined to it
};

struct BigIntObj : Object {
  explicit BigIntObj(BigInt v) : Object(Kind::BigInt), value(std::move(v)) {}
  BigInt value;  // never fits 64 bits
};

// Why a value is undefined; the message is made only when it is needed.
struct UndefinedObj : Object {
  UndefinedObj() : Object(Kind::Undefined) {}
  std::string hint;       // the whole message, or
  std::string of;         // repr of the owner's type ("dict object"; empty: a plain name)
  Value name;             // the name or key that was not found
  bool security = false;  // SecurityError in place of UndefinedError
};

struct ListObj : Object {  // List and Tuple
  explicit ListObj(Kind k, std::vector<Value> v = {}) : Object(k), items(std::move(v)) {}
  void clear() override { items.clear(); }
  std::vector<Value> items;
  bool group = false;  // a tuple of groupby: has .grouper and .list
};

struct RangeObj : Object {
  RangeObj(int64_t a, int64_t b, int64_t s) : Object(Kind::Range), start(a), stop(b), step(s) {}
  int64_t length() const;
  int64_t start, stop, step;
};

struct SliceObj : Object {
  SliceObj(Value a, Value b, Value c)
      : Object(Kind::Slice), start(std::move(a)), stop(std::move(b)), step(std::move(c)) {}
  Value start, stop, step;
};

// Counts live bytes of a render and ends its cycles.
class Heap {
 public:
  explicit Heap(uint64_t limit_bytes) : limit_(limit_bytes) {}
  Heap(const Heap&) = delete;
  ~Heap();

  template <typename T, typename... Args>
  T* make(Args&&... args) {
    T* object = new T(std::forward<Args>(args)...);
    object->heap = this;
    object->charged = sizeof(T) + 16;
    live_ += object->charged;
    check(object);
    return object;
  }
  // Sets what `object` holds beside itself; LimitError above the limit.
  void charge(Object* object, uint64_t bytes);
  // LimitError when `bytes` more would not fit: asked before large allocations.
  void reserve(uint64_t bytes) const;
  // The object may become part of a cycle: cleared when the heap ends.
  void track(Object* object);
  uint64_t live() const { return live_; }

 private:
  friend void destroy(Object* object);
  void check(Object* fresh);
  uint64_t limit_, live_ = 0;
  bool draining_ = false;
  Object* dead_ = nullptr;
  std::vector<Ref<Object>> tracked_;
};

}  // namespace tally::text::jinja
