// Base64 (RFC 4648, standard alphabet, with padding): how bytes that are not text travel in JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tally {

std::string base64_encode(std::span<const uint8_t> bytes);
inline std::string base64_encode(std::string_view bytes) {
  return base64_encode(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

// Null when the text is not exactly what base64_encode would write: wrong alphabet, length, padding, or spare bits set.
std::optional<std::vector<uint8_t>> base64_decode(std::string_view text);

}  // namespace tally
