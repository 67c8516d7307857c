// Operators with Python's meaning.
#pragma once

#include "text/jinja_interp.h"

namespace tally::text::jinja {

bool truthy(const Value& v);
const char* type_name(const Value& v);  // "str", "NoneType", …

Value binary(Interp& in, Op op, const Value& a, const Value& b);
Value unary(Interp& in, Op op, const Value& a);

bool equal(Interp& in, const Value& a, const Value& b);
// Lt, Le, Gt, Ge; TypeError for types without an order.
bool ordered(Interp& in, Op op, const Value& a, const Value& b);
bool compare(Interp& in, Op op, const Value& a, const Value& b);  // all of ==, <, in, …
bool contains(Interp& in, const Value& container, const Value& item);
uint64_t hash_value(Interp& in, const Value& v);  // TypeError for lists and dicts

// False where Python has no len().
bool length_of(Interp& in, const Value& v, int64_t* n);

// Integers as 64 bit or BigInt.
BigInt to_big(const Value& v);
double to_double(const Value& integer);
// An integer argument of a builtin; TypeError otherwise. Integers beyond 64 bits are clamped.
int64_t index_of(Interp& in, const Value& v);
Value power(Interp& in, const Value& a, const Value& b);  // jinja_arith.cc
Value arithmetic(Interp& in, Op op, const Value& a, const Value& b);

// printf-style formatting (jinja_percent.cc); `arguments` as in Python: a tuple, a mapping or one value.
Value percent_format(Interp& in, const StringObj& format, const Value& arguments);

// Text with & < > ' " escaped, as markupsafe does; texts that are Markup already stay.
std::string escape_html(std::string_view text);
std::string escaped(Interp& in, const Value& v);

}  // namespace tally::text::jinja
