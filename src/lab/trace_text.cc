// What llama.cpp's tools print per op, and CSV. Line by line; a line that is not of the form is no operation.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "app/jsonl.h"
#include "base/error.h"
#include "lab/trace.h"

namespace tally::lab {

namespace {

std::string_view trimmed(std::string_view s) {
  size_t from = s.find_first_not_of(" \t\r"), to = s.find_last_not_of(" \t\r");
  return from == std::string_view::npos ? std::string_view() : s.substr(from, to - from + 1);
}

std::optional<double> number(std::string_view s) {
  s = trimmed(s);
  double x = 0;
  auto r = std::from_chars(s.data(), s.data() + s.size(), x);
  if (s.empty() || r.ec != std::errc() || r.ptr != s.data() + s.size() || !std::isfinite(x)) return std::nullopt;
  return x;
}

template <typename F>
void each_line(std::string_view text, F f) {
  for (size_t from = 0; from < text.size();) {
    size_t end = std::min(text.find('\n', from), text.size());
    f(text.substr(from, end - from));
    from = end + 1;
  }
}

uint64_t calls_of(double n) { return n >= 0 && n <= 1e15 ? static_cast<uint64_t>(n) : 0; }

// "MUL_MAT q4_0 m=4096 …" → "MUL_MAT"
std::string first_word(std::string_view s) { return std::string(s.substr(0, s.find_first_of(" ("))); }

}  // namespace

// "NAME: 24 x 13.2 us = 316.8 us (512 GFLOPS/s)"
Trace read_vulkan_log(const std::string& text, const std::string& path) {
  Trace t{.format = "vulkan log"};
  each_line(text, [&](std::string_view line) {
    line = trimmed(line);
    size_t times = line.rfind(" x "), equals = line.rfind(" us = "), end = line.find(" us", equals + 6);
    if (times == std::string_view::npos || equals == std::string_view::npos || equals < times ||
        end == std::string_view::npos)
      return;
    size_t colon = line.rfind(": ", times);
    if (colon == std::string_view::npos) return;
    auto calls = number(line.substr(colon + 2, times - colon - 2));
    auto us = number(line.substr(equals + 6, end - equals - 6));
    if (!calls || !us || *us < 0) return;
    std::string name(line.substr(0, colon));
    t.add(name, first_word(name), calls_of(*calls), *us / 1000, 0);
  });
  if (t.ops.empty()) fail(ErrorCode::BadInput, "{}: \"Vulkan Timings\" without lines \"NAME: N x T us = S us\"", path);
  t.notes.push_back("sums over all graphs that the log holds; it has no time line, so the wall time must be given");
  return t;
}

namespace {

// The values of "INSERT INTO test_backend_ops (a, b) VALUES ('x', 'y');" by column name; quotes in values are not
// escaped by that tool, so a value ends at "', '" or "');".
std::optional<std::string> sql_value(std::string_view line, std::string_view column) {
  size_t open = line.find('('), close = line.find(") VALUES (");
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  std::string_view names = line.substr(open + 1, close - open - 1), values = line.substr(close + 10);
  size_t at = 0;
  while (true) {
    size_t comma = std::min(names.find(", "), names.size());
    bool found = names.substr(0, comma) == column;
    if (at >= values.size() || values[at] != '\'') return std::nullopt;
    size_t end = std::min(values.find("', '", at + 1), values.find("');", at + 1));
    if (end == std::string_view::npos) return std::nullopt;
    if (found) return std::string(values.substr(at + 1, end - at - 1));
    if (comma == names.size()) return std::nullopt;
    names.remove_prefix(comma + 2);
    at = end + 3;
  }
}

std::string without_colours(std::string_view line) {
  std::string out;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\033') {
      while (i < line.size() && line[i] != 'm') ++i;
      continue;
    }
    out += line[i];
  }
  return out;
}

}  // namespace

Trace read_backend_ops(const std::string& text, const std::string& path) {
  Trace t{.format = "test-backend-ops", .standalone = true};
  each_line(text, [&](std::string_view raw) {
    if (raw.find("INSERT INTO test_backend_ops") != std::string_view::npos) {
      auto op = sql_value(raw, "op_name"), us = sql_value(raw, "time_us"), params = sql_value(raw, "op_params");
      auto time = us ? number(*us) : std::nullopt;
      if (op && params && time && *time > 0) t.add(*op + "(" + *params + ")", *op, 1, *time / 1000, 0);
      return;
    }
    std::string line = without_colours(raw);
    std::string_view v = line;
    size_t unit = v.find(" us/run - "), runs = v.find(" runs - "), colon = v.find("): ");
    if (unit == std::string_view::npos || runs == std::string_view::npos || colon == std::string_view::npos ||
        runs > unit)
      return;
    auto us = number(v.substr(runs + 8, unit - runs - 8));
    if (!us || *us <= 0) return;
    std::string name(trimmed(v.substr(0, colon + 1)));
    t.add(name, first_word(name), 1, *us / 1000, 0);
  });
  if (t.ops.empty()) fail(ErrorCode::BadInput, "{}: no operation with a time; run test-backend-ops in mode perf", path);
  t.notes.push_back("single calls on their own (microbenchmark): no share of a run follows from them");
  return t;
}

namespace {

std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[++i];
    else if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  for (std::string& f : fields) f = std::string(trimmed(f));
  return fields;
}

struct Columns {
  int name = -1, op = -1, time = -1, calls = -1;
  double ms_per_unit = 0;
};

// Times are recognised by a unit in the column's name: "exec duration (ms)", "time_us", "Total Time (ns)".
Columns columns_of(const std::vector<std::string>& header) {
  Columns c;
  for (size_t i = 0; i < header.size(); ++i) {
    std::string h = lower(header[i]);
    int n = static_cast<int>(i);
    bool time = h.find("time") != std::string::npos || h.find("dur") != std::string::npos;
    bool sum = h.find("avg") == std::string::npos && h.find("min") == std::string::npos &&
               h.find("max") == std::string::npos && h.find("med") == std::string::npos &&
               h.find("std") == std::string::npos && h.find("%") == std::string::npos;
    double unit = h.ends_with("ns") || h.ends_with("ns)")   ? 1e-6
                  : h.ends_with("us") || h.ends_with("us)") ? 1e-3
                  : h.ends_with("ms") || h.ends_with("ms)") ? 1
                                                            : 0;
    if (time && sum && unit > 0 && c.time < 0)
      c.time = n, c.ms_per_unit = unit;
    else if ((h == "op name" || h == "op_name" || h == "op" || h == "category") && c.op < 0)
      c.op = n;
    else if ((h == "name" || h == "kernel name" || h == "kernel" || h == "op_params") && c.name < 0)
      c.name = n;
    else if ((h == "calls" || h == "count" || h == "instances" || h == "n_calls") && c.calls < 0)
      c.calls = n;
  }
  return c;
}

}  // namespace

Trace read_csv_trace(const std::string& text, const std::string& path) {
  Trace t{.format = "csv"};
  Columns c;
  bool header = true;
  size_t number_of_line = 0;
  each_line(text, [&](std::string_view line) {
    ++number_of_line;
    if (trimmed(line).empty()) return;
    std::vector<std::string> f = csv_fields(line);
    if (header) {
      header = false;
      c = columns_of(f);
      if (c.time < 0 || (c.name < 0 && c.op < 0))
        fail(ErrorCode::BadInput,
             "{}: no known trace: neither Chrome JSON, ledger, Nsight SQLite nor a log of llama.cpp, and as CSV "
             "its first line names no operator (name, op, kernel …) with a time (time_us, duration (ms), Total Time "
             "(ns) …)",
             path);
      return;
    }
    auto field = [&](int i) {
      return i >= 0 && static_cast<size_t>(i) < f.size() ? f[static_cast<size_t>(i)] : std::string();
    };
    auto time = number(field(c.time));
    if (!time || *time < 0)
      fail(ErrorCode::BadInput, "{}:{}: time \"{}\" is no number ≥ 0", path, number_of_line, field(c.time));
    double calls = c.calls >= 0 ? number(field(c.calls)).value_or(1) : 1;
    std::string op = field(c.op), name = c.name >= 0 ? field(c.name) : op;
    t.add(name, op, calls_of(calls), *time * c.ms_per_unit, 0);
  });
  t.notes.push_back("no time line: the wall time must be given");
  return t;
}

Trace read_llama_bench(const std::string& text, const std::string& path, const std::string& test) {
  nlohmann::json rows = app::parse_json(text);
  if (!rows.is_array()) fail(ErrorCode::BadInput, "{}: llama-bench's JSON is a list of results", path);
  Trace t{.format = "llama-bench"};
  std::string there;
  for (const auto& r : rows) {
    if (!r.is_object() || !r.contains("avg_ns") || !r["avg_ns"].is_number()) continue;
    auto count = [&](const char* key) { return r.contains(key) && r[key].is_number() ? r[key].get<double>() : 0.0; };
    std::string name =
        count("n_prompt") > 0 ? fmt::format("pp{:.0f}", count("n_prompt")) : fmt::format("tg{:.0f}", count("n_gen"));
    there += (there.empty() ? "" : ", ") + name;
    if ((test.empty() && rows.size() == 1) || name == test) {
      t.wall_ms = r["avg_ns"].get<double>() / 1e6;
      t.ops = {{"whole run", "", 1, t.wall_ms, 0}};
    }
  }
  if (t.ops.empty()) fail(ErrorCode::BadInput, "{}: which test? --test takes one of: {}", path, there);
  t.notes.push_back("wall time only: llama-bench does not say which operator took it");
  return t;
}

}  // namespace tally::lab
