// Pages and slots in double. Memory appears when it is first written: tests reserve little, models may be large.
#pragma once

#include <vector>

#include "backend/backend.h"

namespace tally::reference {

class ReferenceState : public backend::State {
 public:
  ReferenceState(const ops::Program& program, const backend::Limits& limits);

  uint64_t bytes() const override { return limits_.n_slots * slot_bytes_ + limits_.n_pages * page_bytes_; }
  uint64_t bytes_per_slot() const override { return slot_bytes_; }
  uint64_t bytes_per_page() const override { return page_bytes_; }
  void clear_slot(int slot) override;
  void copy_slot(int from, int to) override;
  void copy_page(int from, int to) override;
  void save_slot(int slot, std::span<uint8_t> out) const override;
  void load_slot(int slot, std::span<const uint8_t> in) override;
  void save_page(int page, std::span<uint8_t> out) const override;
  void load_page(int page, std::span<const uint8_t> in) override;
  std::vector<float> slot_values(ops::StateRef state, int slot) const override;

  int n_slots() const { return limits_.n_slots; }
  int n_pages() const { return limits_.n_pages; }
  double* slot(ops::StateRef state, int slot) { return slot_cells(slot).data() + offset_[state.id]; }
  // K of one position of a page, [n_kv_heads × head_dim]; V follows after kPageTokens positions.
  double* k(ops::StateRef state, int page, int position) {
    return page_cells(page).data() + offset_[state.id] + position * infos_[state.id].elements();
  }
  double* v(ops::StateRef state, int page, int position) {
    return k(state, page, position) + ops::kPageTokens * infos_[state.id].elements();
  }

 private:
  using Cells = std::vector<double>;
  Cells& slot_cells(int slot);
  Cells& page_cells(int page);

  std::vector<ops::StateInfo> infos_;
  backend::Limits limits_;
  std::vector<int64_t> offset_;  // of each state within its slot or page
  uint64_t slot_bytes_ = 0, page_bytes_ = 0;
  std::vector<Cells> slots_, pages_;  // empty: all zero
};

}  // namespace tally::reference
