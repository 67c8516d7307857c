// Pages and slots in host memory, reserved once; untouched memory costs nothing.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"

namespace tally::cpu {

class CpuState : public backend::State {
 public:
  CpuState(const ops::Program& program, const backend::Limits& limits);
  ~CpuState() override;

  uint64_t bytes() const override { return size_; }
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

  bool exact() const { return limits_.exact; }
  int n_slots() const { return limits_.n_slots; }
  int n_pages() const { return limits_.n_pages; }
  // A slot state of one sequence: [elements].
  float* slot(ops::StateRef state, int slot) const {
    return reinterpret_cast<float*>(memory_ + slot_base_ + uint64_t(slot) * slot_bytes_ + offset_[state.id]);
  }
  // One KV head of one page: K [head_dim][64], V [64][head_dim].
  void* k_page(ops::StateRef state, int page, int kv_head) const { return head(state, page, kv_head); }
  void* v_page(ops::StateRef state, int page, int kv_head) const {
    return head(state, page, info(state).n_kv_heads + kv_head);
  }

 private:
  const ops::StateInfo& info(ops::StateRef state) const { return infos_[state.id]; }
  void* head(ops::StateRef state, int page, int index) const {
    return memory_ + uint64_t(page) * page_bytes_ + offset_[state.id] +
           uint64_t(index) * info(state).head_dim * ops::kPageTokens * cell_bytes_;
  }

  std::vector<ops::StateInfo> infos_;
  backend::Limits limits_;
  std::vector<uint64_t> offset_;  // of each state within its slot or page
  uint64_t cell_bytes_ = 2;       // of one cached element
  uint64_t slot_bytes_ = 0, page_bytes_ = 0, slot_base_ = 0, size_ = 0;
  uint8_t* memory_ = nullptr;
};

}  // namespace tally::cpu
