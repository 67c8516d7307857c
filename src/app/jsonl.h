// The line protocol of commands with --jsonl: one JSON object in, exactly one line out, in order, flushed.
#pragma once

#include <functional>
#include <iosfwd>
#include <nlohmann/json.hpp>

namespace tally::app {

using JsonlHandler = std::function<nlohmann::ordered_json(const nlohmann::json& line)>;

// Serves `in` until its end. Each line must be a JSON object; what `handler` returns (an object) is written with the
// line's "id" (if any) in front. A bad line, or whatever the handler throws, becomes
// {"id":…, "error":{"code", "message"}} and the next line is served. A handler that wants to answer with an error of
// its own kind returns an object with "error" itself. Text that is not UTF-8 is written with U+FFFD.
void run_jsonl(std::istream& in, std::ostream& out, const JsonlHandler& handler);

// The same where the order of a line's keys matters: messages and tools are shown to a model as they were written.
using OrderedJsonlHandler = std::function<nlohmann::ordered_json(const nlohmann::ordered_json& line)>;
void run_jsonl_ordered(std::istream& in, std::ostream& out, const OrderedJsonlHandler& handler);

// {"code": name of the code, "message": …}: the error object above.
nlohmann::ordered_json error_object(const std::exception& e);

// Parses hostile text: nesting is limited (520 levels). Throws Error (BadInput) saying where it is wrong.
nlohmann::json parse_json(std::string_view text);
nlohmann::ordered_json parse_json_ordered(std::string_view text);  // keeps the order of keys

// One line of JSON text; floats read back exactly, inf and nan become null, bytes that are not UTF-8 become U+FFFD.
std::string dump_json(const nlohmann::ordered_json& value);

}  // namespace tally::app
