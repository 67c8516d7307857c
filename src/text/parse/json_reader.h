// Reads a JSON value out of model output and passes it on as it comes, repaired where it is clear what was meant:
// trailing commas, raw control characters in strings, True, False and None, doubtful escapes, brackets missing at the
// end. White space outside strings is left out; numbers keep their digits. Nesting is counted, not recursed.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "text/parse/input.h"

namespace tally::parse {

using TextOut = std::function<void(std::string_view)>;

enum class JsonEnd : uint8_t {
  Complete,  // valid JSON was passed on
  Invalid,   // no longer JSON at in.pos: what was passed on is a beginning
  Ended,     // the text ended inside; what was passed on is a beginning
};

// How a value is written.
enum class Dialect : uint8_t {
  Json,
  Python,  // 'text', (tuples), Python's escapes
  Gemma,   // <|"|>text<|"|>, keys without quotes
};

// A value at in.pos. Outside strings, any of `closers` ends it, as the end of the text does when it is not cut: where
// only brackets are missing they are added. On Complete, in.pos stands behind the value.
// `depth`, where given, gets the number of brackets that are open at the end.
Task<JsonEnd> read_json(Input& in, std::span<const std::string_view> closers, const TextOut& out, int* depth = nullptr,
                        Dialect dialect = Dialect::Json);

// The rest of a value that went wrong, passed on as it is: until its brackets are balanced (`depth` are open), a
// closer, or the end.
Task<> read_broken(Input& in, std::span<const std::string_view> closers, int depth, const TextOut& out);

// Reads a value for a call's arguments whatever it is: read_json, and where that fails read_broken.
Task<JsonEnd> read_any(Input& in, std::span<const std::string_view> closers, const TextOut& out,
                       Dialect dialect = Dialect::Json);

// A string of Python at in.pos (a prefix, a quote), as JSON.
Task<JsonEnd> copy_python_string(Input& in, const TextOut& out);
bool begins_python_string(const Input& in);  // as far as in.text goes

// A string at in.pos ('"'), decoded; at most `limit` bytes as written. Complete, Invalid (not a string, too long) or
// Ended (then *out holds what there is).
Task<JsonEnd> read_string(Input& in, size_t limit, std::string* out);

// The value that a whole text holds, white space around it ignored; strict JSON but for the Python spellings. Gives the
// text without outer white space, with JSON spellings. kind: n(ull) b(oolean) i(nteger) d (number) s(tring) a(rray)
// o(bject).
struct JsonText {
  bool valid = false;
  char kind = 0;
  std::string text;
};
JsonText json_text(std::string_view text);

// `text` between quotes, escaped.
std::string json_quote(std::string_view text);
// … without the quotes.
std::string json_escape(std::string_view text);

}  // namespace tally::parse
