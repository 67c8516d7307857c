// Readers that stop where the input ends for now and go on when there is more: coroutines over one growing buffer.
// A reader is written as if the whole text were there; the parser resumes it with each piece.
//
// Calls between readers are kept on an explicit stack (Runner), not on the machine's: neither deep nesting nor a loop
// of a million short readers grows the C stack, whatever the compiler does with tail calls.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"

namespace tally::parse {

// Runs a chain of readers: the innermost is resumed until it waits for input or ends.
class Runner {
 public:
  void push(std::coroutine_handle<> h) { stack_.push_back(h); }
  void pop() { stack_.pop_back(); }
  bool done() const { return stack_.empty(); }
  void wait() { waiting_ = true; }
  void fail(std::exception_ptr error) { error_ = std::move(error); }

  // Until a reader waits for input, or all have ended.
  void run() {
    waiting_ = false;
    while (!stack_.empty() && !waiting_) {
      stack_.back().resume();
      if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    }
  }

 private:
  std::vector<std::coroutine_handle<>> stack_;
  bool waiting_ = false;
  std::exception_ptr error_;
};

// Every reader begins with this. GCC 12 gives a coroutine a wrong frame when its outermost block declares no variable
// and a condition in it awaits.
#define READER [[maybe_unused]] const char reader_frame = 0

template <typename T>
class Task;

namespace internal {

struct PromiseBase {
  Runner* runner = nullptr;
  std::suspend_always initial_suspend() noexcept { return {}; }
  struct Final {
    bool await_ready() noexcept { return false; }
    template <typename P>
    void await_suspend(std::coroutine_handle<P> h) noexcept {
      h.promise().runner->pop();
    }
    void await_resume() noexcept {}
  };
  Final final_suspend() noexcept { return {}; }
  void unhandled_exception() { runner->fail(std::current_exception()); }
};

template <typename T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  void return_value(T v) { value = std::move(v); }
  T take() { return std::move(*value); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() {}
  void take() {}
};

}  // namespace internal

// A reader that gives a T. Awaited by another reader, or started on a Runner.
template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::Promise<T>;

  explicit Task(std::coroutine_handle<promise_type> h) : handle_(h) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  void start(Runner& runner) {
    handle_.promise().runner = &runner;
    runner.push(handle_);
  }

  bool await_ready() const noexcept { return false; }
  template <typename P>
  void await_suspend(std::coroutine_handle<P> caller) {
    start(*caller.promise().runner);
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

namespace internal {

template <typename T>
Task<T> Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace internal
}  // namespace tally::parse
