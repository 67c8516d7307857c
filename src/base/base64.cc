#include "base/base64.h"

#include <array>

namespace tally {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr uint8_t kInvalid = 64;

constexpr std::array<uint8_t, 256> make_inverse() {
  std::array<uint8_t, 256> inverse{};
  inverse.fill(kInvalid);
  for (uint8_t i = 0; i < 64; ++i) inverse[static_cast<uint8_t>(kAlphabet[i])] = i;
  return inverse;
}
constexpr std::array<uint8_t, 256> kInverse = make_inverse();

}  // namespace

std::string base64_encode(std::span<const uint8_t> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = bytes.size() - i < 3 ? bytes.size() - i : 3;
    uint32_t word = static_cast<uint32_t>(bytes[i]) << 16;
    if (n > 1) word |= static_cast<uint32_t>(bytes[i + 1]) << 8;
    if (n > 2) word |= bytes[i + 2];
    for (size_t k = 0; k < 4; ++k) text += k <= n ? kAlphabet[(word >> (18 - 6 * k)) & 63] : '=';
  }
  return text;
}

std::optional<std::vector<uint8_t>> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t n_padding = 0;
  while (n_padding < 2 && n_padding < text.size() && text[text.size() - 1 - n_padding] == '=') ++n_padding;
  std::vector<uint8_t> bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    const size_t n_chars = i + 4 == text.size() ? 4 - n_padding : 4;
    uint32_t word = 0;
    for (size_t k = 0; k < 4; ++k) {
      const uint8_t value = k < n_chars ? kInverse[static_cast<uint8_t>(text[i + k])] : uint8_t{0};
      if (value == kInvalid) return std::nullopt;
      word = word << 6 | value;
    }
    const uint32_t spare = n_chars == 4 ? 0 : n_chars == 3 ? word & 0xFF : word & 0xFFFF;
    if (spare != 0) return std::nullopt;
    for (size_t k = 0; k + 1 < n_chars; ++k) bytes.push_back(static_cast<uint8_t>(word >> (16 - 8 * k)));
  }
  return bytes;
}

}  // namespace tally
