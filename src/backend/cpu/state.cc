#include "backend/cpu/state.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/checked.h"
#include "base/error.h"

namespace tally::cpu {

CpuState::CpuState(const ops::Program& program, const backend::Limits& limits)
    : infos_(program.states), limits_(limits) {
  cell_bytes_ = limits.exact ? 4 : 2;
  for (const ops::StateInfo& s : infos_) {
    if (s.kind == ops::StateKind::Slot) {
      offset_.push_back(slot_bytes_);
      slot_bytes_ += round_up(s.elements() * sizeof(float), 64);
    } else {
      offset_.push_back(page_bytes_);
      page_bytes_ += 2 * s.elements() * ops::kPageTokens * cell_bytes_;
    }
  }
  slot_base_ = round_up(uint64_t(limits.n_pages) * page_bytes_, 4096);
  size_ = slot_base_ + uint64_t(limits.n_slots) * slot_bytes_;
  if (size_ == 0) return;
  void* memory = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    fail(ErrorCode::Resources, "no memory for the state: {} pages and {} slots need {:.2f} GB; choose a smaller --ctx",
         limits.n_pages, limits.n_slots, size_ * 1e-9);
  memory_ = static_cast<uint8_t*>(memory);
}

CpuState::~CpuState() {
  if (memory_) munmap(memory_, size_);
}

void CpuState::clear_slot(int slot) { std::memset(memory_ + slot_base_ + slot * slot_bytes_, 0, slot_bytes_); }

void CpuState::copy_slot(int from, int to) {
  if (from != to)
    std::memcpy(memory_ + slot_base_ + to * slot_bytes_, memory_ + slot_base_ + from * slot_bytes_, slot_bytes_);
}

void CpuState::copy_page(int from, int to) {
  if (from != to) std::memcpy(memory_ + to * page_bytes_, memory_ + from * page_bytes_, page_bytes_);
}

void CpuState::save_slot(int slot, std::span<uint8_t> out) const {
  CHECK(out.size() == slot_bytes_, "{} of {}", out.size(), slot_bytes_);
  if (slot_bytes_) std::memcpy(out.data(), memory_ + slot_base_ + slot * slot_bytes_, slot_bytes_);
}

void CpuState::load_slot(int slot, std::span<const uint8_t> in) {
  CHECK(in.size() == slot_bytes_, "{} of {}", in.size(), slot_bytes_);
  if (slot_bytes_) std::memcpy(memory_ + slot_base_ + slot * slot_bytes_, in.data(), slot_bytes_);
}

void CpuState::save_page(int page, std::span<uint8_t> out) const {
  CHECK(out.size() == page_bytes_, "{} of {}", out.size(), page_bytes_);
  if (page_bytes_) std::memcpy(out.data(), memory_ + page * page_bytes_, page_bytes_);
}

void CpuState::load_page(int page, std::span<const uint8_t> in) {
  CHECK(in.size() == page_bytes_, "{} of {}", in.size(), page_bytes_);
  if (page_bytes_) std::memcpy(memory_ + page * page_bytes_, in.data(), page_bytes_);
}

std::vector<float> CpuState::slot_values(ops::StateRef state, int slot_index) const {
  CHECK(info(state).kind == ops::StateKind::Slot, "{}", info(state).name);
  const float* p = slot(state, slot_index);
  return {p, p + info(state).elements()};
}

}  // namespace tally::cpu
