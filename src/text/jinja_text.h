// Values as text: str() and repr() of Python, JSON, and back.
#pragma once

#include "text/jinja_interp.h"

namespace tally::text::jinja {

void append_str(Interp& in, const Value& v, std::string* out);
void append_repr(Interp& in, const Value& v, std::string* out);
std::string to_str(Interp& in, const Value& v);
std::string to_repr(Interp& in, const Value& v);
std::string repr_of(std::string_view text);  // of a str
std::string float_repr(double d);

struct JsonStyle {
  bool ensure_ascii = false, sort_keys = false;
  std::string indent;  // one level
  bool has_indent = false;
  std::string item_separator = ", ", key_separator = ": ";
};
// json.dumps; TypeError for what JSON has not.
std::string to_json(Interp& in, const Value& v, const JsonStyle& style);
Value from_json(Interp& in, std::string_view text);  // ValueError
Value import_json(Interp& in, const Json& json);

}  // namespace tally::text::jinja
