// Filters, tests, methods and global functions by name, and the binding of their arguments.
#pragma once

#include <array>
#include <span>

#include "text/jinja_interp.h"

namespace tally::text::jinja {

// args.pos[0] is what the filter or test is applied to.
struct Builtin {
  const char* name;
  FunctionCode code;
};

const Builtin* find_filter(std::string_view name);  // null when there is none
const Builtin* find_test(std::string_view name);
const Method* find_method(const Value& owner, std::string_view name);
FunctionCode find_global(std::string_view name, const char** static_name);

// Tables, one per file.
std::span<const Builtin> text_filters();
std::span<const Builtin> html_filters();
std::span<const Builtin> wrap_filters();
std::span<const Builtin> number_filters();
std::span<const Builtin> list_filters();
std::span<const Builtin> select_filters();
std::span<const Builtin> value_filters();
std::span<const Builtin> tests();
std::span<const Method> string_methods();
std::span<const Method> string_search_methods();
std::span<const Method> list_methods();
std::span<const Method> dict_methods();

// Parameters by name: out[i] is missing where an optional one is not given. A name "" is positional only. TypeError for
// too many, too few or unknown arguments.
void bind(Interp& in, const char* function, Args& args, size_t skip, std::span<const char* const> names,
          size_t n_required, Value* out);

template <size_t N>
std::array<Value, N> bind(Interp& in, const char* function, Args& args, const char* const (&names)[N],
                          size_t n_required, size_t skip = 0) {
  std::array<Value, N> out;
  bind(in, function, args, skip, std::span<const char* const>(names, N), n_required, out.data());
  return out;
}

// A string argument or TypeError.
StringObj& string_of(Interp& in, const Value& v, const char* function);

// The attribute path of map(attribute=), sort(attribute=), …: "a.0.b" or an index.
class AttributePath {
 public:
  AttributePath(Interp& in, const Value& attribute);  // none or missing: the item itself
  Value operator()(Interp& in, const Value& item, const Value& fallback = Value()) const;

 private:
  std::vector<Value> parts_;
};

// Runs a filter or test by name on `item` (map, select, …).
Value call_builtin(Interp& in, const Builtin& builtin, const Value& item, const Args& rest);

// str.format and str.format_map (jinja_format.cc).
Value format_string(Interp& in, const StringObj& format, Args& args, bool is_map);
// format(value, spec)
std::string format_value(Interp& in, const Value& v, const std::string& spec);
// strftime of the render's clock.
std::string format_time(Interp& in, std::string_view format);
Value lower_if_string(Interp& in, const Value& v);
void sort_values(Interp& in, std::vector<std::pair<Value, Value>>* keyed, bool reverse);  // stable, by the first

}  // namespace tally::text::jinja
