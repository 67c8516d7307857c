#include "app/jsonl.h"

#include <istream>
#include <ostream>

#include "base/error.h"

namespace tally::app {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kDepthMax = 520;  // schemas may nest 512 levels
constexpr size_t kLineBytesMax = size_t{1} << 30;

// Reads one line; false at the end of input. A line beyond the limit is dropped to its end and `too_long` set.
bool read_line(std::istream& in, std::string& line, bool& too_long) {
  line.clear();
  too_long = false;
  std::streambuf* buffer = in.rdbuf();
  int c = buffer->sbumpc();
  if (c == std::char_traits<char>::eof()) return false;
  for (; c != std::char_traits<char>::eof() && c != '\n'; c = buffer->sbumpc()) {
    if (line.size() < kLineBytesMax) {
      line += static_cast<char>(c);
    } else {
      too_long = true;
    }
  }
  return true;
}

template <typename Json>
Json parse(std::string_view text) {
  const auto limit_depth = [](int depth, typename Json::parse_event_t, Json&) {
    if (depth > kDepthMax) fail(ErrorCode::BadInput, "JSON nested deeper than {} levels", kDepthMax);
    return true;
  };
  try {
    return Json::parse(text, limit_depth);
  } catch (const json::exception& e) {
    fail(ErrorCode::BadInput, "not valid JSON: {}", e.what());
  }
}

template <typename Json, typename Handler>
ordered_json answer(const std::string& line, bool too_long, ordered_json& id, const Handler& handler) {
  try {
    if (too_long) fail(ErrorCode::BadInput, "the line is longer than {} bytes", kLineBytesMax);
    const Json request = parse<Json>(line);
    if (!request.is_object()) {
      fail(ErrorCode::BadInput, "the line is a JSON {}, expected an object", request.type_name());
    }
    if (auto found = request.find("id"); found != request.end()) id = *found;
    return handler(request);
  } catch (const std::exception& e) {
    return {{"error", error_object(e)}};
  }
}

template <typename Json, typename Handler>
void serve_lines(std::istream& in, std::ostream& out, const Handler& handler) {
  std::string line;
  bool too_long = false;
  while (read_line(in, line, too_long)) {
    ordered_json id;  // null: the line had none, or was too bad to tell
    ordered_json result = answer<Json>(line, too_long, id, handler);
    ordered_json reply = ordered_json::object();
    if (!id.is_null() || result.contains("error")) reply["id"] = id;
    for (auto& [key, value] : result.items()) reply[key] = std::move(value);
    out << dump_json(reply) << '\n' << std::flush;
  }
}

}  // namespace

json parse_json(std::string_view text) { return parse<json>(text); }
ordered_json parse_json_ordered(std::string_view text) { return parse<ordered_json>(text); }

std::string dump_json(const ordered_json& value) {
  return value.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

ordered_json error_object(const std::exception& e) {
  ErrorCode code = ErrorCode::Internal;
  std::string message = e.what();
  if (const auto* error = dynamic_cast<const Error*>(&e)) {
    code = error->code();
  } else if (dynamic_cast<const json::exception*>(&e) != nullptr) {
    code = ErrorCode::BadInput;  // a field of the request has another type than its reader expects
  } else if (dynamic_cast<const std::bad_alloc*>(&e) != nullptr) {
    code = ErrorCode::Resources;
    message = "out of memory";
  }
  return {{"code", name_of(code)}, {"message", message}};
}

void run_jsonl(std::istream& in, std::ostream& out, const JsonlHandler& handler) {
  serve_lines<json>(in, out, handler);
}

void run_jsonl_ordered(std::istream& in, std::ostream& out, const OrderedJsonlHandler& handler) {
  serve_lines<ordered_json>(in, out, handler);
}

}  // namespace tally::app
