// The named sets of characters: ECMA-262, tables 67 to 69; the characters themselves come from PCRE2's tables.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "text/grammar/regex_terms.h"
#include "text/grammar/utf8_text.h"

namespace tally::grammar {
namespace {

struct Category {
  std::string_view name, long_name;
};
constexpr std::array<Category, 38> kCategories{{
    {"C", "Other"},
    {"Cc", "Control"},
    {"Cf", "Format"},
    {"Cn", "Unassigned"},
    {"Co", "Private_Use"},
    {"Cs", "Surrogate"},
    {"L", "Letter"},
    {"LC", "Cased_Letter"},
    {"Ll", "Lowercase_Letter"},
    {"Lm", "Modifier_Letter"},
    {"Lo", "Other_Letter"},
    {"Lt", "Titlecase_Letter"},
    {"Lu", "Uppercase_Letter"},
    {"M", "Mark"},
    {"Mc", "Spacing_Mark"},
    {"Me", "Enclosing_Mark"},
    {"Mn", "Nonspacing_Mark"},
    {"N", "Number"},
    {"Nd", "Decimal_Number"},
    {"Nl", "Letter_Number"},
    {"No", "Other_Number"},
    {"P", "Punctuation"},
    {"Pc", "Connector_Punctuation"},
    {"Pd", "Dash_Punctuation"},
    {"Pe", "Close_Punctuation"},
    {"Pf", "Final_Punctuation"},
    {"Pi", "Initial_Punctuation"},
    {"Po", "Other_Punctuation"},
    {"Ps", "Open_Punctuation"},
    {"S", "Symbol"},
    {"Sc", "Currency_Symbol"},
    {"Sk", "Modifier_Symbol"},
    {"Sm", "Math_Symbol"},
    {"So", "Other_Symbol"},
    {"Z", "Separator"},
    {"Zl", "Line_Separator"},
    {"Zp", "Paragraph_Separator"},
    {"Zs", "Space_Separator"},
}};
constexpr std::array<std::string_view, 20> kBinary{"ASCII_Hex_Digit",
                                                   "Alphabetic",
                                                   "Case_Ignorable",
                                                   "Cased",
                                                   "Dash",
                                                   "Default_Ignorable_Code_Point",
                                                   "Diacritic",
                                                   "Emoji",
                                                   "Extender",
                                                   "Hex_Digit",
                                                   "ID_Start",
                                                   "ID_Continue",
                                                   "Ideographic",
                                                   "Lowercase",
                                                   "Math",
                                                   "Uppercase",
                                                   "XID_Start",
                                                   "XID_Continue",
                                                   "White_Space",
                                                   "Emoji_Presentation"};

// How PCRE2 calls the property; empty: there is none.
std::string pcre_name(std::string_view name) {
  std::string_view value = name;
  size_t equals = name.find('=');
  if (equals != std::string_view::npos) {
    std::string_view kind = name.substr(0, equals);
    value = name.substr(equals + 1);
    const bool plain =
        !value.empty() &&
        value.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
    if (!plain || value[0] < 'A' || value[0] > 'Z') return "";
    if (kind == "Script" || kind == "sc") return "sc:" + std::string(value);
    if (kind == "Script_Extensions" || kind == "scx") return "scx:" + std::string(value);
    if (kind != "General_Category" && kind != "gc") return "";
  }
  for (const Category& c : kCategories)
    if (value == c.name || value == c.long_name) return c.name == "LC" ? "L&" : std::string(c.name);
  for (const Category& alias : {Category{"P", "punct"}, {"Nd", "digit"}, {"Cc", "cntrl"}, {"M", "Combining_Mark"}})
    if (value == alias.long_name) return std::string(alias.name);
  if (equals == std::string_view::npos && std::find(kBinary.begin(), kBinary.end(), value) != kBinary.end())
    return std::string(value);
  return "";
}

bool collect(const std::string& property, CharSet& out) {
  const std::string pattern = "\\p{" + property + "}+";
  int error = 0;
  size_t where = 0;
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code(
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF, &error, &where, nullptr),
      &pcre2_code_free);
  if (!code) return false;
  std::string text;  // every character once
  text.reserve(4'400'000);
  for (uint32_t c = 0; c <= kLastChar; ++c)
    if (c < 0xD800 || c > 0xDFFF) append_utf8(text, c);
  std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> match(
      pcre2_match_data_create_from_pattern(code.get(), nullptr), &pcre2_match_data_free);
  for (size_t at = 0; at < text.size();) {
    int n = pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, PCRE2_NO_UTF_CHECK,
                        match.get(), nullptr);
    if (n < 1) break;
    const size_t* ends = pcre2_get_ovector_pointer(match.get());
    size_t last = ends[1] - 1, bytes = 0;
    while ((static_cast<uint8_t>(text[last]) & 0xC0) == 0x80) --last;
    CharRange r{*decode_utf8(std::string_view(text).substr(ends[0]), &bytes),
                *decode_utf8(std::string_view(text).substr(last), &bytes)};
    out.push_back(r);
    at = ends[1];
  }
  out = normalized(std::move(out));
  return true;
}

}  // namespace

CharSet digit_chars() { return {{'0', '9'}}; }
CharSet word_chars() { return {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}; }
CharSet space_chars() {
  return {{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
          {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
}

const CharSet* property_chars(std::string_view name) {
  static const CharSet any{{0, kLastChar}}, ascii{{0, 0x7F}};
  if (name == "Any") return &any;
  if (name == "ASCII") return &ascii;
  const std::string property = name == "Assigned" ? "Cn" : pcre_name(name);
  if (property.empty()) return nullptr;
  static std::mutex mutex;
  static std::map<std::string, CharSet> known;
  std::lock_guard lock(mutex);
  const std::string key = name == "Assigned" ? "Assigned" : property;
  if (auto it = known.find(key); it != known.end()) return &it->second;
  CharSet set;
  if (!collect(property, set)) return nullptr;
  if (name == "Assigned") set = complement(set);
  return &known.emplace(key, std::move(set)).first->second;
}

}  // namespace tally::grammar
