#include "text/parse/json_reader.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "text/utf8.h"

namespace tally::parse {
namespace {

constexpr size_t kMaxDepth = 512;

bool is_hex(std::string_view s) {
  for (char c : s)
    if (!std::isxdigit(uint8_t(c))) return false;
  return true;
}
uint32_t hex_of(std::string_view s) { return uint32_t(std::strtoul(std::string(s).c_str(), nullptr, 16)); }
bool is_high(uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low(uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

// \uXXXX at in.pos, with its second half where it needs one. Complete or Ended.
Task<JsonEnd> copy_unicode_escape(Input& in, const TextOut& out) {
  READER;
  if (!co_await in.more(6)) {
    if (in.cut || is_hex(in.rest().substr(2))) co_return JsonEnd::Ended;
    out("\\\\");
    in.pos += 1;
    co_return JsonEnd::Complete;
  }
  if (!is_hex(in.rest().substr(2, 4))) {
    out("\\\\");  // the backslash was meant
    in.pos += 1;
    co_return JsonEnd::Complete;
  }
  const uint32_t unit = hex_of(in.rest().substr(2, 4));
  if (is_high(unit)) {
    const Match pair = co_await in.settle("\\u", 6);
    if (pair == Match::Beginning || (pair == Match::Yes && !co_await in.more(12))) co_return JsonEnd::Ended;
    if (pair == Match::Yes && is_hex(in.rest().substr(8, 4)) && is_low(hex_of(in.rest().substr(8, 4)))) {
      out(in.rest().substr(0, 12));
      in.pos += 12;
      co_return JsonEnd::Complete;
    }
  }
  out(is_high(unit) || is_low(unit) ? "\\ufffd" : in.rest().substr(0, 6));
  in.pos += 6;
  co_return JsonEnd::Complete;
}

Task<JsonEnd> copy_escape(Input& in, const TextOut& out) {
  READER;
  if (!co_await in.more(2)) co_return JsonEnd::Ended;
  const char e = in.peek(1);
  if (e == 'u') co_return co_await copy_unicode_escape(in, out);
  if (std::string_view("\"\\/bfnrt").find(e) != std::string_view::npos) {
    out(in.rest().substr(0, 2));
    in.pos += 2;
  } else if (e == '\'') {
    out("'");
    in.pos += 2;
  } else {
    out("\\\\");  // the backslash was meant
    in.pos += 1;
  }
  co_return JsonEnd::Complete;
}

// A string at in.pos, as JSON with its quotes.
Task<JsonEnd> copy_string(Input& in, size_t limit, const TextOut& out) {
  READER;
  if (!co_await in.more()) co_return JsonEnd::Ended;
  if (in.peek() != '"') co_return JsonEnd::Invalid;
  const size_t begin = in.pos;
  out("\"");
  in.pos += 1;
  while (co_await in.more()) {
    if (in.pos - begin > limit) break;
    const char c = in.peek();
    if (c == '"') {
      out("\"");
      in.pos += 1;
      co_return JsonEnd::Complete;
    }
    if (c == '\\') {
      if (co_await copy_escape(in, out) == JsonEnd::Ended) co_return JsonEnd::Ended;
      continue;
    }
    size_t n = 0;
    const std::string_view rest = in.rest();
    while (n < rest.size() && uint8_t(rest[n]) >= 0x20 && rest[n] != '"' && rest[n] != '\\') ++n;
    if (n > 0)
      out(rest.substr(0, n)), in.pos += n;
    else
      out(json_escape(rest.substr(0, 1))), in.pos += 1;
  }
  if (in.pos - begin <= limit) co_return JsonEnd::Ended;
  in.pos = begin;
  co_return JsonEnd::Invalid;
}

std::string unquote(std::string_view json) {  // of copy_string
  std::string out;
  for (size_t i = 1; i + 1 < json.size(); ++i) {
    if (json[i] != '\\') {
      out += json[i];
      continue;
    }
    const char e = json[++i];
    if (e == 'u') {
      uint32_t code = hex_of(json.substr(i + 1, 4));
      i += 4;
      if (is_high(code)) {
        code = 0x10000 + ((code - 0xD800) << 10) + (hex_of(json.substr(i + 3, 4)) - 0xDC00);
        i += 6;
      }
      text::append_utf8(out, code);
    } else {
      static constexpr std::string_view kFrom = "bfnrt", kTo = "\b\f\n\r\t";
      const size_t at = kFrom.find(e);
      out += at == kFrom.npos ? e : kTo[at];
    }
  }
  return out;
}

bool may_stand_here(const Input& in, std::span<const std::string_view> texts) {
  for (std::string_view text : texts)
    if (text[0] == in.peek()) return true;
  return false;
}

// Whether one of the texts stands at in.pos.
Task<bool> stands_here(Input& in, std::span<const std::string_view> texts) {
  READER;
  for (std::string_view text : texts)
    if (co_await in.settle(text) == Match::Yes) co_return true;
  co_return false;
}

class JsonWriter {
 public:
  explicit JsonWriter(const TextOut& out) : out_(out) {}
  void token(std::string_view text) {
    comma();
    out_(text);
  }
  void comma() {
    if (comma_) out_(",");
    comma_ = false;
  }
  void open(char bracket) {
    token(bracket == '{' ? "{" : "[");
    open_.push_back(bracket == '{' ? '}' : bracket == '[' ? ']' : ')');
  }
  void hold_comma() { comma_ = true; }
  // Closes brackets until one of this kind is closed; false: none is open.
  bool close(char bracket) {
    if (open_.find(bracket) == open_.npos) return false;
    comma_ = false;  // a trailing one
    char last = 0;
    while (last != bracket) {
      last = open_.back();
      out_(last == '}' ? "}" : "]");
      open_.pop_back();
    }
    return true;
  }
  void close_all() {
    while (!open_.empty()) close(open_.back());
  }
  bool in_object() const { return !open_.empty() && open_.back() == '}'; }
  bool empty() const { return open_.empty(); }
  size_t depth() const { return open_.size(); }

 private:
  const TextOut& out_;
  std::string open_;
  bool comma_ = false;
};

struct Word {
  std::string_view spelling, json;
};
constexpr Word kWords[] = {{"true", "true"}, {"false", "false"}, {"null", "null"},
                           {"True", "true"}, {"False", "false"}, {"None", "null"}};

Task<JsonEnd> read_word(Input& in, JsonWriter& writer) {
  READER;
  for (const Word& word : kWords) {
    const Match m = co_await in.settle(word.spelling);
    if (m == Match::Beginning) co_return in.cut ? JsonEnd::Ended : JsonEnd::Invalid;
    if (m == Match::No) continue;
    writer.token(word.json);
    in.pos += word.spelling.size();
    co_return JsonEnd::Complete;
  }
  co_return JsonEnd::Invalid;
}

std::string json_number(std::string_view python);

Task<JsonEnd> read_number(Input& in, JsonWriter& writer, Dialect dialect) {
  READER;
  static constexpr std::string_view kNumber = "+-.0123456789eE_";
  size_t n = 0;
  while (co_await in.more(n + 1) && kNumber.find(in.peek(n)) != kNumber.npos) ++n;
  if (in.available() == n && in.cut) co_return JsonEnd::Ended;
  const std::string written(in.rest().substr(0, n));
  const std::string number = dialect == Dialect::Python ? json_number(written) : written;
  if (!json_text(number).valid) co_return JsonEnd::Invalid;
  writer.token(number);
  in.pos += n;
  co_return JsonEnd::Complete;
}

// <|"|>text<|"|>
constexpr std::string_view kGemmaQuote = "<|\"|>";
Task<JsonEnd> copy_gemma_string(Input& in, const TextOut& out) {
  READER;
  in.pos += kGemmaQuote.size();
  out("\"");
  while (co_await in.more()) {
    if (in.peek() == '<') {
      const Match m = co_await in.settle(kGemmaQuote);
      if (m == Match::Beginning && in.cut) co_return JsonEnd::Ended;
      if (m == Match::Yes) {
        in.pos += kGemmaQuote.size();
        out("\"");
        co_return JsonEnd::Complete;
      }
    }
    const std::string_view rest = in.rest();
    const size_t n = std::min(rest.find('<', 1), rest.size());
    out(json_escape(rest.substr(0, n)));
    in.pos += n;
  }
  co_return JsonEnd::Ended;
}

// A key or word without quotes, up to a mark.
Task<JsonEnd> read_plain_word(Input& in, JsonWriter& writer) {
  READER;
  size_t n = 0;
  while (co_await in.more(n + 1) && std::string_view(":,{}[]<\n\"").find(in.peek(n)) == std::string_view::npos)
    if (++n > 256) co_return JsonEnd::Invalid;
  if (in.available() == n) co_return JsonEnd::Ended;
  if (n == 0) co_return JsonEnd::Invalid;
  std::string_view word = in.rest().substr(0, n);
  while (is_space(word.back())) word.remove_suffix(1);
  writer.token(json_quote(word));
  in.pos += n;
  co_return JsonEnd::Complete;
}

// Numbers as Python writes them, where JSON does not: 1_000, .5, 5.
std::string json_number(std::string_view python) {
  std::string out;
  for (size_t i = 0; i < python.size(); ++i) {
    const char c = python[i];
    if (c == '_') continue;
    const bool digit_before = !out.empty() && std::isdigit(uint8_t(out.back()));
    if (c == '.' && !digit_before) out += '0';
    out += c;
    if (c == '.' && (i + 1 == python.size() || !std::isdigit(uint8_t(python[i + 1])))) out += '0';
  }
  if (out.starts_with('+')) out.erase(0, 1);
  return out;
}

Task<JsonEnd> read_scalar(Input& in, JsonWriter& writer, const TextOut& out, Dialect dialect) {
  READER;
  const char c = in.peek();
  if (dialect == Dialect::Gemma && c == '<' && co_await in.settle(kGemmaQuote) == Match::Yes) {
    writer.comma();
    co_return co_await copy_gemma_string(in, out);
  }
  if (dialect == Dialect::Python) {
    co_await in.more(3);
    if (begins_python_string(in)) {
      writer.comma();
      co_return co_await copy_python_string(in, out);
    }
  }
  if (c == '"') {
    writer.comma();
    co_return co_await copy_string(in, SIZE_MAX, out);
  }
  const bool sign = dialect == Dialect::Python && (c == '.' || c == '+');
  if (sign || c == '-' || (c >= '0' && c <= '9')) co_return co_await read_number(in, writer, dialect);
  const JsonEnd word = co_await read_word(in, writer);
  if (word == JsonEnd::Invalid && dialect == Dialect::Gemma) co_return co_await read_plain_word(in, writer);
  co_return word;
}

enum class Expect : uint8_t { Value, ValueOrEnd, KeyOrEnd, Colon, CommaOrEnd };

// The value or key that in.pos begins; then *expect says what comes next.
Task<JsonEnd> read_item(Input& in, JsonWriter& writer, const TextOut& out, Expect* expect, Dialect dialect) {
  READER;
  const char c = in.peek();
  if (*expect == Expect::KeyOrEnd) {
    *expect = Expect::Colon;
    const bool plain = dialect == Dialect::Gemma && c != '"' && c != '<';
    if (plain) co_return co_await read_plain_word(in, writer);
    if (dialect == Dialect::Json && c != '"') co_return JsonEnd::Invalid;
    if (dialect == Dialect::Python) {
      co_await in.more(3);
      if (!begins_python_string(in)) co_return JsonEnd::Invalid;
    }
    co_return co_await read_scalar(in, writer, out, dialect);
  }
  if (c == '{' || c == '[' || (c == '(' && dialect == Dialect::Python)) {
    if (writer.depth() >= kMaxDepth) co_return JsonEnd::Invalid;
    writer.open(c);
    in.pos += 1;
    *expect = c == '{' ? Expect::KeyOrEnd : Expect::ValueOrEnd;
    co_return JsonEnd::Complete;
  }
  *expect = Expect::CommaOrEnd;
  co_return co_await read_scalar(in, writer, out, dialect);
}

// A bracket, comma or colon at in.pos, if it may stand there.
bool read_mark(Input& in, JsonWriter& writer, Expect* expect) {
  const char c = in.peek();
  if ((c == '}' || c == ']' || c == ')') && *expect != Expect::Value && *expect != Expect::Colon) {
    if (writer.close(c))
      in.pos += 1;
    else
      writer.close_all();  // the bracket belongs to what stands around this value
    *expect = Expect::CommaOrEnd;
    return true;
  }
  if (c == ',' && *expect == Expect::CommaOrEnd) {
    writer.hold_comma();
    *expect = writer.in_object() ? Expect::KeyOrEnd : Expect::ValueOrEnd;
    in.pos += 1;
    return true;
  }
  if (c == ':' && *expect == Expect::Colon) {
    writer.token(":");
    *expect = Expect::Value;
    in.pos += 1;
    return true;
  }
  return false;
}

}  // namespace

Task<JsonEnd> read_json(Input& in, std::span<const std::string_view> closers, const TextOut& out, int* depth,
                        Dialect dialect) {
  READER;
  JsonWriter writer(out);
  Expect expect = Expect::Value;
  auto leave = [&](JsonEnd end) {
    if (end == JsonEnd::Invalid) writer.comma();
    if (depth) *depth = int(writer.depth());
    return end;
  };
  do {
    in.pos += co_await in.space();
    const bool closable = !writer.empty() && expect != Expect::Value && expect != Expect::Colon;
    if (in.at_end()) {
      if (in.cut || !closable) co_return leave(JsonEnd::Ended);
      writer.close_all();
      break;
    }
    if (read_mark(in, writer, &expect)) continue;
    if (expect == Expect::CommaOrEnd || expect == Expect::KeyOrEnd || expect == Expect::ValueOrEnd) {
      if (may_stand_here(in, closers) && co_await stands_here(in, closers)) {
        writer.close_all();
        break;
      }
    }
    if (expect == Expect::CommaOrEnd || expect == Expect::Colon) co_return leave(JsonEnd::Invalid);
    const JsonEnd item = co_await read_item(in, writer, out, &expect, dialect);
    if (item != JsonEnd::Complete) co_return leave(item);
  } while (!writer.empty());
  co_return leave(JsonEnd::Complete);
}

Task<> read_broken(Input& in, std::span<const std::string_view> closers, int depth, const TextOut& out) {
  READER;
  bool inside = false;  // a string
  const bool scalar = depth == 0;
  while (co_await in.more()) {
    const char c = in.peek();
    if (!inside) {
      if (may_stand_here(in, closers) && co_await stands_here(in, closers)) co_return;
      if (scalar && (c == '}' || c == ']' || c == ',')) co_return;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
    } else if (c == '\\' && co_await in.more(2)) {
      out(in.rest().substr(0, 1));
      in.pos += 1;
    }
    if (c == '"') inside = !inside;
    const uint8_t lead = uint8_t(in.peek());
    const size_t n = lead < 0x80 ? 1 : text::utf8_length(in.peek());
    out(in.rest().substr(0, n));
    in.pos += n;
    if (!inside && !scalar && depth <= 0) co_return;
  }
}

Task<JsonEnd> read_any(Input& in, std::span<const std::string_view> closers, const TextOut& out, Dialect dialect) {
  READER;
  int depth = 0;
  const JsonEnd end = co_await read_json(in, closers, out, &depth, dialect);
  if (end == JsonEnd::Invalid) co_await read_broken(in, closers, depth, out);
  co_return end;
}

Task<JsonEnd> read_string(Input& in, size_t limit, std::string* out) {
  READER;
  std::string json;
  const TextOut collect = [&](std::string_view text) { json += text; };
  const JsonEnd end = co_await copy_string(in, limit, collect);
  if (end == JsonEnd::Ended) json += '"';
  if (end != JsonEnd::Invalid) *out = unquote(json);
  co_return end;
}

}  // namespace tally::parse
