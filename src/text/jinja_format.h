// Pieces shared by printf-style formatting, str.format and format().
#pragma once

#include "text/jinja_interp.h"

namespace tally::text::jinja {

inline constexpr int kWidthMax = 1'000'000;

struct FormatSpec {
  std::string fill = " ";  // one character
  char align = 0;          // < > = ^, 0: the type's own
  char sign = '-';         // + - or space
  bool alternate = false;
  int width = 0, precision = -1;
  char grouping = 0;  // , or _
  char type = 0;
};

std::string sign_text(bool negative, char sign);
// Digits of |d| for e f g % and n, in the type's case.
std::string real_digits(Interp& in, double magnitude, char type, int precision, bool alternate);
std::string pad(Interp& in, std::string_view text, const FormatSpec& spec, char align);
// Pads between prefix and digits for '='; with `zeros` the fill is 0.
std::string pad_number(Interp& in, const std::string& prefix, const std::string& digits, const FormatSpec& spec,
                       char align, bool zeros);
std::string ascii_repr(std::string_view text);

}  // namespace tally::text::jinja
