// Unicode properties of code points (tables of utf8proc) and normalisation form C.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tally::text {

enum CharClass : uint8_t {
  kLetter = 1,      // \p{L}
  kMark = 2,        // \p{M}
  kNumber = 4,      // \p{N}
  kSpace = 8,       // White_Space: U+0009-000D, 0020, 0085, 00A0, 1680, 2000-200A, 2028, 2029, 202F, 205F, 3000
  kUpperSide = 16,  // \p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}
  kLowerSide = 32,  // \p{Ll}\p{Lm}\p{Lo}\p{M}
  kDigit = 64,      // \p{Nd}
  kWord = 128       // \w of the Oniguruma engine: alphabetic, mark, decimal digit, connector
};

// Classes of all 0x110000 code points, built at the first call.
const uint8_t* char_classes();

// False when `text` (valid UTF-8) is certainly in form C already; cheap.
bool may_change_in_nfc(std::string_view text);

// `text` (valid UTF-8) in normalisation form C; n log n in the length of the longest run of marks.
std::string to_nfc(std::string_view text);

}  // namespace tally::text
