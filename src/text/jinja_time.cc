// strftime of the render's clock, in the C locale.
#include <cstdio>
#include <ctime>

#include "text/jinja_builtins.h"

namespace tally::text::jinja {
namespace {

// Days since 1970-01-01 (H. Hinnant, chrono-compatible low-level date algorithms).
int64_t days_from_civil(int64_t y, int m, int d) {
  y -= m <= 2;
  const int64_t era = (y >= 0 ? y : y - 399) / 400;
  const int64_t yoe = y - era * 400, doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
  return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

std::tm civil(Interp& in) {
  std::tm t{};
  if (in.now.empty()) {
    const std::time_t now = std::time(nullptr);
    localtime_r(&now, &t);
    return t;
  }
  int y, mo, d, h = 0, mi = 0, s = 0;
  const int n = std::sscanf(in.now.c_str(), "%d-%d-%d%*[T ]%d:%d:%d", &y, &mo, &d, &h, &mi, &s);
  if ((n != 3 && n < 5) || y < 1 || y > 9999 || mo < 1 || mo > 12 || d < 1 || d > 31 || h < 0 || h > 23 || mi < 0 ||
      mi > 59 || s < 0 || s > 60)
    in.fail(Err::Value, "the time \"{}\" is not of the form 2026-01-02T03:04:05", in.now.substr(0, 40));
  t.tm_year = y - 1900;
  t.tm_mon = mo - 1;
  t.tm_mday = d;
  t.tm_hour = h;
  t.tm_min = mi;
  t.tm_sec = s;
  const int64_t days = days_from_civil(y, mo, d);
  t.tm_wday = static_cast<int>(((days + 4) % 7 + 7) % 7);
  t.tm_yday = static_cast<int>(days - days_from_civil(y, 1, 1));
  return t;
}

}  // namespace

std::string format_time(Interp& in, std::string_view format) {
  const std::tm t = civil(in);
  if (format.size() > 4096) in.fail(Err::Limit, "a time format of more than 4096 bytes");
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 >= format.size()) {
      out += format[i];
      continue;
    }
    // Microseconds and the zone of a clock without one, as Python's datetime prints them.
    const char c = format[++i];
    if (c == 'f') out += "000000";
    if (c == 'f' || c == 'z' || c == 'Z') continue;
    std::string one = "%";
    one += c;
    if ((c == '-' || c == '_' || c == '0' || c == '^' || c == '#' || c == 'E' || c == 'O') && i + 1 < format.size())
      one += format[++i];
    char buffer[256];
    const size_t n = std::strftime(buffer, sizeof buffer, one.c_str(), &t);
    out.append(buffer, n);
  }
  return out;
}

}  // namespace tally::text::jinja
