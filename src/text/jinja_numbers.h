// Numbers from text, as int() and float() of Python read them.
#pragma once

#include <string_view>

#include "text/jinja_bigint.h"

namespace tally::text::jinja {

// base 0 or 2 to 36; false when the text is no integer (or has more than 4,300 digits).
bool parse_int(std::string_view text, int base, BigInt* out);
bool parse_float(std::string_view text, double* out);

}  // namespace tally::text::jinja
