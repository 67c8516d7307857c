#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/check.h"
#include "text/utf8.h"

namespace tally::text {
namespace {

constexpr uint32_t kCodePoints = 0x110000;

bool is_white_space(uint32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

uint8_t class_of_category(utf8proc_category_t category) {
  switch (category) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return kLetter | kUpperSide | kWord;
    case UTF8PROC_CATEGORY_LL:
      return kLetter | kLowerSide | kWord;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kLetter | kUpperSide | kLowerSide | kWord;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return kMark | kUpperSide | kLowerSide | kWord;
    case UTF8PROC_CATEGORY_ND:
      return kNumber | kDigit | kWord;
    case UTF8PROC_CATEGORY_NL:
      return kNumber | kWord;
    case UTF8PROC_CATEGORY_NO:
      return kNumber;
    case UTF8PROC_CATEGORY_PC:
      return kWord;
    default:
      return 0;
  }
}

std::unique_ptr<uint8_t[]> build_classes() {
  auto table = std::make_unique<uint8_t[]>(kCodePoints);
  for (uint32_t c = 0; c < kCodePoints; ++c) {
    if (c >= 0x40000 && c < 0xE0000) continue;  // planes without assigned characters
    table[c] = class_of_category(utf8proc_category(static_cast<utf8proc_int32_t>(c)));
    if (is_white_space(c)) table[c] |= kSpace;
  }
  // Other_Alphabetic outside letters and marks: circled and squared letters.
  for (auto [first, last] : {std::pair{0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}})
    for (int c = first; c <= last; ++c) table[c] |= kWord;
  return table;
}

using Code = utf8proc_int32_t;
constexpr int kMaxDecomposition = 16;

// Full canonical decomposition of one character.
int decompose(Code c, Code* out) {
  int boundary = 0;
  const auto n = utf8proc_decompose_char(
      c, out, kMaxDecomposition, static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | UTF8PROC_STABLE), &boundary);
  CHECK(n >= 1 && n <= kMaxDecomposition, "U+{:04X} decomposes to {}", c, n);
  return static_cast<int>(n);
}

utf8proc_ssize_t compose(Code* codes, size_t n) {
  const auto length = utf8proc_normalize_utf32(codes, static_cast<utf8proc_ssize_t>(n),
                                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  CHECK(length >= 0, "composition failed: {}", length);
  return length;
}

// Marks the characters that form C may change, alone or beside a neighbour: marks that reorder, those that compose with
// what stands before them, and those whose decomposition does not compose back.
std::vector<bool> build_unstable() {
  std::vector<bool> unstable(kCodePoints);
  for (uint32_t c = 0x1161; c <= 0x1175; ++c) unstable[c] = true;  // conjoining vowels
  for (uint32_t c = 0x11A8; c <= 0x11C2; ++c) unstable[c] = true;  // conjoining final consonants
  for (uint32_t c = 0x80; c < 0x30000; ++c) {
    const auto* property = utf8proc_get_property(static_cast<Code>(c));
    if (property->combining_class != 0) unstable[c] = true;
    if (property->decomp_seqindex == UINT16_MAX) continue;
    Code parts[kMaxDecomposition];
    const int n = decompose(static_cast<Code>(c), parts);
    for (int i = 1; i < n; ++i) unstable[static_cast<uint32_t>(parts[i])] = true;
    const auto composed = compose(parts, static_cast<size_t>(n));
    if (composed != 1 || parts[0] != static_cast<Code>(c)) unstable[c] = true;
  }
  return unstable;
}

int combining_class(Code c) { return utf8proc_get_property(c)->combining_class; }

// Canonical ordering: within each run of characters with a non-zero combining class, a stable sort by class.
void order_marks(std::vector<Code>& codes) {
  for (size_t i = 0; i < codes.size();) {
    if (combining_class(codes[i]) == 0) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < codes.size() && combining_class(codes[end]) != 0) ++end;
    std::stable_sort(codes.begin() + static_cast<ptrdiff_t>(i), codes.begin() + static_cast<ptrdiff_t>(end),
                     [](Code a, Code b) { return combining_class(a) < combining_class(b); });
    i = end;
  }
}

}  // namespace

const uint8_t* char_classes() {
  static const std::unique_ptr<uint8_t[]> table = build_classes();
  return table.get();
}

bool may_change_in_nfc(std::string_view text) {
  static const std::vector<bool> unstable = build_unstable();
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    uint32_t length;
    const uint32_t code = decode_valid_utf8(p, &length);
    if (code >= 0x80 && unstable[code]) return true;
    p += length;
  }
  return false;
}

std::string to_nfc(std::string_view text) {
  std::vector<Code> codes;
  codes.reserve(text.size());
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    uint32_t length;
    const uint32_t code = decode_valid_utf8(p, &length);
    p += length;
    Code parts[kMaxDecomposition];
    const int n = decompose(static_cast<Code>(code), parts);
    codes.insert(codes.end(), parts, parts + n);
  }
  order_marks(codes);
  const auto n = compose(codes.data(), codes.size());
  std::string out;
  out.reserve(text.size());
  for (utf8proc_ssize_t i = 0; i < n; ++i) append_utf8(out, static_cast<uint32_t>(codes[static_cast<size_t>(i)]));
  return out;
}

}  // namespace tally::text
