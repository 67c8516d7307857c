// Who holds which page and which slot: indices only. Pages are shared by reference count.
#pragma once

#include <vector>

#include "base/check.h"

namespace tally::runtime {

class Pool {
 public:
  explicit Pool(int n) : references_(n, 0) {
    for (int i = n - 1; i >= 0; --i) free_.push_back(i);
  }
  // −1 when all are taken.
  int take() {
    if (free_.empty()) return -1;
    int i = free_.back();
    free_.pop_back();
    references_[i] = 1;
    return i;
  }
  void share(int i) {
    CHECK(references_[i] > 0, "index {}", i);
    ++references_[i];
  }
  void release(int i) {
    CHECK(references_[i] > 0, "index {}", i);
    if (--references_[i] == 0) free_.push_back(i);
  }
  int references(int i) const { return references_[i]; }
  int n_free() const { return static_cast<int>(free_.size()); }
  int size() const { return static_cast<int>(references_.size()); }

 private:
  std::vector<int> references_;
  std::vector<int> free_;
};

}  // namespace tally::runtime
