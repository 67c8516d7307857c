// One rendering of a program: its limits, its heap, its variables.
#pragma once

#include <fmt/format.h>

#include "text/jinja_error.h"
#include "text/jinja_objects.h"
#include "text/template.h"

namespace tally::text::jinja {

class Interp {
 public:
  Interp(const Program& program, const RenderOptions& options);
  ~Interp();
  std::string render(const Json& variables);

  // ---- errors and limits
  [[noreturn]] void fail(Err kind, const std::string& message) const { raise(kind, line, message); }
  template <typename... A>
  [[noreturn]] void fail(Err kind, fmt::format_string<A...> format, A&&... args) const {
    raise(kind, line, fmt::format(format, std::forward<A>(args)...));
  }
  void step(uint64_t n = 1) {
    n_steps_ += n;
    if (n_steps_ > limits.steps) [[unlikely]]
      fail_steps();
  }
  void step_bytes(size_t n) { step(n / 64 + 1); }
  // Asks before a builtin makes `n` items or characters.
  void reserve(uint64_t n, uint64_t bytes_each);

  // One level of nesting, of evaluation or of nested values.
  struct Nested {
    explicit Nested(Interp& in) : in_(in) {
      if (++in.depth_ > in.limits.depth || stack_bytes(in) > kStackBytes) in.fail_depth();
    }
    ~Nested() { --in_.depth_; }
    static size_t stack_bytes(const Interp& in) {
      const char* here = static_cast<const char*>(__builtin_frame_address(0));
      return static_cast<size_t>(here < in.stack_base_ ? in.stack_base_ - here : here - in.stack_base_);
    }
    Interp& in_;
  };

  // ---- making values
  Value str(std::string text, bool markup = false);
  Value list(std::vector<Value> items) { return sequence(Kind::List, std::move(items)); }
  Value tuple(std::vector<Value> items) { return sequence(Kind::Tuple, std::move(items)); }
  Value integer(BigInt value);  // LimitError when it is too large
  Ref<DictObj> dict() { return Ref<DictObj>(heap.make<DictObj>()); }
  Value method(const Value& self, const Method* m) { return Value(heap.make<MethodObj>(self, m)); }
  Value undefined(std::string hint);
  Value undefined_name(const Value& name);
  Value undefined_member(const Value& owner, const Value& name);
  Value unsafe_member(const Value& owner, const Value& name);
  [[noreturn]] void fail_undefined(const Value& undefined);

  // ---- statements (jinja_exec.cc) and expressions (jinja_eval.cc)
  enum class Flow : uint8_t { Normal, Break, Continue };
  Flow exec(const Body& body);
  Value eval(const Expr& e);
  Value eval_folded(const Expr& e);  // with constant subscripts lenient
  void eval_args(const CallArgs& from, Args* to);
  void assign(const Expr& target, const Value& value);
  void enter(const FrameInfo& frame);
  void leave(const FrameInfo& frame);
  Value resolve(const std::string& name);

  Value call(const Value& callee, Args& args);  // jinja_call.cc
  Value call_macro(MacroObj* macro, Args& args);
  Value render_loop(const Stmt& s, Ref<EnvObj> env, const Value& iterable, int64_t depth0);

  // The item of a loop's test: exec's part of the generator that filters.
  bool passes_test(const Stmt& s, const Ref<EnvObj>& test_env, const Value& item, Value* result);

  const TemplateLimits& limits;
  const std::string& now;
  Heap heap;
  int line = 0;

 private:
  Value sequence(Kind kind, std::vector<Value> items);
  [[noreturn]] void fail_steps() const;
  [[noreturn]] void fail_depth();
  Value& slot(Place place);
  void write(std::string_view text);
  void print(const Value& value);

  struct Buffered;    // redirects output
  struct Activation;  // another Env
  Flow exec_one(const Stmt& s);
  Flow exec_if(const Stmt& s);
  void exec_output(const Stmt& s);
  Flow exec_for(const Stmt& s);
  Flow loop_over(const Stmt& s, const Value& iterable, int64_t depth0, const Ref<EnvObj>& recursive_env);
  Ref<IteratorObj> filtered(const Stmt& s, const Value& iterable, const Ref<EnvObj>& outer);
  Flow exec_set(const Stmt& s);
  Flow exec_set_block(const Stmt& s);
  Flow exec_filter_block(const Stmt& s);
  Flow exec_with(const Stmt& s);
  Flow exec_scope(const Stmt& s);
  void exec_macro(const Stmt& s);
  void exec_call_block(const Stmt& s);
  void exec_block(const Stmt& s);
  void check_namespaces(const Expr& target);
  void export_names(const Stmt& s);

  Value eval_name(const Expr& e);
  Value eval_compare(const Expr& e);
  Value eval_concat(const Expr& e);
  Value eval_item(const Expr& e);
  Value eval_slice(const Expr& e);
  Value eval_dict(const Expr& e);
  Value eval_call(const Expr& e);
  Value eval_filter(const Expr& e);
  Value eval_test(const Expr& e);
  void bind_macro(const FunctionInfo& f, Args& args, EnvObj* env);

  static constexpr size_t kStackBytes = 3 << 20;
  const Program& program_;
  uint64_t n_steps_ = 0, depth_ = 0, n_output_ = 0;
  const char* stack_base_;
  std::string* out_ = nullptr;
  bool folding_ = false;                       // a constant expression is printed
  const std::string* filter_input_ = nullptr;  // text of the filter block being applied
  Ref<EnvObj> env_;
  Ref<DictObj> variables_, exports_;
};

}  // namespace tally::text::jinja
