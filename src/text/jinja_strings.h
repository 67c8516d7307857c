// Work on texts that filters and methods share.
#pragma once

#include "text/jinja_interp.h"

namespace tally::text::jinja {

Value soft_str(Interp& in, const Value& v);
// str.strip and its sides; `chars` missing or none: whitespace.
Value strip_text(Interp& in, const Value& text, const Value& chars, bool left, bool right);
// str.replace; count < 0: all.
std::string replace_text(Interp& in, const std::string& text, const std::string& from, const std::string& to,
                         int64_t count);
enum class Justify : uint8_t { Left, Right, Center };
Value justify(Interp& in, const Value& text, const Value& width, const Value& fill, Justify how);
// str.splitlines
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);
// str.split without a separator: words between whitespace; max < 0: all.
std::vector<std::string_view> split_words(std::string_view text, int64_t max);
std::string unescape_html(std::string_view text);
std::string strip_tags(std::string_view text);

}  // namespace tally::text::jinja
