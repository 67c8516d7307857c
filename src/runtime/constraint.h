// What a generation may choose from, token by token; the runtime does not know why.
#pragma once

#include <cstdint>
#include <span>

namespace tally::runtime {

class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  // Bit id % 64 of word id / 64 says whether the token may come next; ids beyond the row may not. Valid until the next
  // call. End-of-generation tokens are among the bits when the text may end here.
  virtual std::span<const uint64_t> allowed() = 0;
  // The token was chosen (it was allowed).
  virtual void accept(int32_t token) = 0;
  // Takes back the last n accepted tokens, at most kMaxRollback.
  virtual void rollback(int n) = 0;

  static constexpr int kMaxRollback = 32;
};

}  // namespace tally::runtime
