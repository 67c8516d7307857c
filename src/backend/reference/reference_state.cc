#include "backend/reference/reference_state.h"

#include <cstring>

#include "base/check.h"

namespace tally::reference {
namespace {

void save(const std::vector<double>& cells, std::span<uint8_t> out) {
  if (cells.empty())
    std::memset(out.data(), 0, out.size());
  else
    std::memcpy(out.data(), cells.data(), out.size());
}

}  // namespace

ReferenceState::ReferenceState(const ops::Program& program, const backend::Limits& limits)
    : infos_(program.states), limits_(limits), slots_(limits.n_slots), pages_(limits.n_pages) {
  for (const ops::StateInfo& s : infos_) {
    bool is_slot = s.kind == ops::StateKind::Slot;
    uint64_t& bytes = is_slot ? slot_bytes_ : page_bytes_;
    offset_.push_back(int64_t(bytes / sizeof(double)));
    bytes += sizeof(double) * s.elements() * (is_slot ? 1 : 2 * ops::kPageTokens);
  }
}

ReferenceState::Cells& ReferenceState::slot_cells(int slot) {
  Cells& cells = slots_.at(slot);
  if (cells.empty()) cells.assign(slot_bytes_ / sizeof(double), 0.0);
  return cells;
}

ReferenceState::Cells& ReferenceState::page_cells(int page) {
  Cells& cells = pages_.at(page);
  if (cells.empty()) cells.assign(page_bytes_ / sizeof(double), 0.0);
  return cells;
}

void ReferenceState::clear_slot(int slot) { slots_.at(slot).clear(); }
void ReferenceState::copy_slot(int from, int to) { slots_.at(to) = slots_.at(from); }
void ReferenceState::copy_page(int from, int to) { pages_.at(to) = pages_.at(from); }

void ReferenceState::save_slot(int slot, std::span<uint8_t> out) const {
  CHECK(out.size() == slot_bytes_, "{} of {}", out.size(), slot_bytes_);
  save(slots_.at(slot), out);
}
void ReferenceState::load_slot(int slot, std::span<const uint8_t> in) {
  CHECK(in.size() == slot_bytes_, "{} of {}", in.size(), slot_bytes_);
  std::memcpy(slot_cells(slot).data(), in.data(), in.size());
}
void ReferenceState::save_page(int page, std::span<uint8_t> out) const {
  CHECK(out.size() == page_bytes_, "{} of {}", out.size(), page_bytes_);
  save(pages_.at(page), out);
}
void ReferenceState::load_page(int page, std::span<const uint8_t> in) {
  CHECK(in.size() == page_bytes_, "{} of {}", in.size(), page_bytes_);
  std::memcpy(page_cells(page).data(), in.data(), in.size());
}

std::vector<float> ReferenceState::slot_values(ops::StateRef state, int slot) const {
  CHECK(infos_.at(state.id).kind == ops::StateKind::Slot, "{} is not a slot state", infos_[state.id].name);
  const Cells& cells = slots_.at(slot);
  int64_t n = infos_[state.id].elements();
  if (cells.empty()) return std::vector<float>(n, 0.f);
  return {cells.begin() + offset_[state.id], cells.begin() + offset_[state.id] + n};
}

}  // namespace tally::reference
