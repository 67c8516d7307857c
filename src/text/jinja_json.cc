// JSON as Python's json module writes it, and its import.
#include <algorithm>
#include <cmath>

#include "text/jinja_builtins.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"
#include "text/utf8.h"

namespace tally::text::jinja {
namespace {

void append_json_text(std::string_view text, bool ensure_ascii, std::string* out) {
  *out += '"';
  for (size_t at = 0, next = 0; at < text.size(); at = next) {
    const uint32_t c = char_at(text, at, &next);
    switch (c) {
      case '"':
        *out += "\\\"";
        continue;
      case '\\':
        *out += "\\\\";
        continue;
      case '\n':
        *out += "\\n";
        continue;
      case '\r':
        *out += "\\r";
        continue;
      case '\t':
        *out += "\\t";
        continue;
      case '\f':
        *out += "\\f";
        continue;
      case '\b':
        *out += "\\b";
        continue;
      default:
        break;
    }
    if (c < 0x20 || (ensure_ascii && c >= 0x7F && c < 0x10000))
      *out += fmt::format("\\u{:04x}", c);
    else if (ensure_ascii && c >= 0x10000)
      *out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((c - 0x10000) >> 10), 0xDC00 + ((c - 0x10000) & 0x3FF));
    else
      *out += text.substr(at, next - at);
  }
  *out += '"';
}

class JsonWriter {
 public:
  JsonWriter(Interp& in, const JsonStyle& style) : in_(in), style_(style) {}
  std::string run(const Value& v) {
    write(v);
    return std::move(out_);
  }

 private:
  void newline() {
    if (!style_.has_indent) return;
    out_ += '\n';
    for (size_t i = 0; i < open_.size(); ++i) out_ += style_.indent;
    in_.step_bytes(open_.size() * style_.indent.size());
    if (out_.size() > in_.limits.memory_bytes)
      in_.fail(Err::Limit, "a text of more than {} bytes", in_.limits.memory_bytes);
  }

  void write(const Value& v) {
    in_.step();
    switch (v.kind()) {
      case Kind::None:
        out_ += "null";
        break;
      case Kind::Bool:
        out_ += v.boolean() ? "true" : "false";
        break;
      case Kind::Int:
      case Kind::BigInt:
        append_repr(in_, v, &out_);
        break;
      case Kind::Float:
        out_ += real(v.real());
        break;
      case Kind::String:
        in_.step_bytes(v.as<StringObj>()->text.size());
        append_json_text(v.as<StringObj>()->text, style_.ensure_ascii, &out_);
        break;
      case Kind::List:
      case Kind::Tuple:
        write_list(v);
        break;
      case Kind::Dict:
        write_dict(v);
        break;
      default:
        in_.fail(Err::Type, "Object of type {} is not JSON serializable", type_name(v));
    }
  }

  static std::string real(double d) {
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
    return float_repr(d);
  }

  void open(const Value& v, char bracket) {
    if (std::find(open_.begin(), open_.end(), v.object()) != open_.end())
      in_.fail(Err::Value, "Circular reference detected");
    open_.push_back(v.object());
    out_ += bracket;
    newline();
  }
  void close(char bracket) {
    open_.pop_back();
    newline();
    out_ += bracket;
  }

  void write_list(const Value& v) {
    const Interp::Nested nested(in_);
    const auto& items = v.as<ListObj>()->items;
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    open(v, '[');
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) separate();
      write(items[i]);
    }
    close(']');
  }

  void separate() {
    out_ += style_.item_separator;
    newline();
  }

  void write_dict(const Value& v) {
    const Interp::Nested nested(in_);
    const DictObj& dict = *v.as<DictObj>();
    if (dict.size() == 0) {
      out_ += "{}";
      return;
    }
    open(v, '{');
    std::vector<std::pair<Value, Value>> items;
    for (const auto& e : dict.entries)
      if (e.live()) items.emplace_back(e.key, e.value);
    if (style_.sort_keys) sort_values(in_, &items, false);
    bool first = true;
    for (const auto& [key, value] : items) {
      if (!first) separate();
      first = false;
      write_key(key);
      out_ += style_.key_separator;
      write(value);
    }
    close('}');
  }

  void write_key(const Value& key) {
    switch (key.kind()) {
      case Kind::String:
        append_json_text(key.as<StringObj>()->text, style_.ensure_ascii, &out_);
        break;
      case Kind::None:
        out_ += "\"null\"";
        break;
      case Kind::Bool:
        out_ += key.boolean() ? "\"true\"" : "\"false\"";
        break;
      case Kind::Int:
      case Kind::BigInt:
        out_ += '"' + to_repr(in_, key) + '"';
        break;
      case Kind::Float:
        out_ += '"' + real(key.real()) + '"';
        break;
      default:
        in_.fail(Err::Type, "keys must be str, int, float, bool or None, not {}", type_name(key));
    }
  }

  Interp& in_;
  const JsonStyle& style_;
  std::string out_;
  std::vector<const Object*> open_;
};

}  // namespace

std::string to_json(Interp& in, const Value& v, const JsonStyle& style) { return JsonWriter(in, style).run(v); }

Value import_json(Interp& in, const Json& json) {
  const Interp::Nested nested(in);
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value(json.get<bool>());
    case Json::value_t::number_integer:
      return Value(json.get<int64_t>());
    case Json::value_t::number_unsigned: {
      const uint64_t u = json.get<uint64_t>();
      if (u <= static_cast<uint64_t>(INT64_MAX)) return Value(static_cast<int64_t>(u));
      return in.integer(BigInt::parse(std::to_string(u), 10));
    }
    case Json::value_t::number_float:
      return Value(json.get<double>());
    case Json::value_t::string: {
      const auto& s = json.get_ref<const std::string&>();
      return in.str(is_valid_utf8(s) ? s : replace_ill_formed(s, Replace::EachSequence));
    }
    case Json::value_t::array: {
      std::vector<Value> items;
      in.reserve(json.size(), sizeof(Value));
      items.reserve(json.size());
      for (const auto& item : json) items.push_back(import_json(in, item));
      return in.list(std::move(items));
    }
    case Json::value_t::object: {
      auto dict = in.dict();
      for (const auto& [key, item] : json.items()) {
        const Value name = in.str(is_valid_utf8(key) ? key : replace_ill_formed(key, Replace::EachSequence));
        dict->set(in, name, hash_value(in, name), import_json(in, item));
      }
      return Value(dict);
    }
    default:
      return Value::none();
  }
}

namespace {

// Builds values as the text is read.
struct JsonReader {
  using number_integer_t = Json::number_integer_t;
  using number_unsigned_t = Json::number_unsigned_t;
  using number_float_t = Json::number_float_t;
  using string_t = Json::string_t;
  using binary_t = Json::binary_t;

  bool put(Value v) {
    in.step();
    if (open.empty()) {
      result = std::move(v);
    } else if (open.back().is(Kind::Dict)) {
      open.back().as<DictObj>()->set(in, keys.back(), hash_value(in, keys.back()), std::move(v));
    } else {
      auto* list = open.back().as<ListObj>();
      if (list->items.size() == list->items.capacity())
        in.heap.charge(list, (list->items.size() * 2 + 4) * sizeof(Value));
      list->items.push_back(std::move(v));
    }
    return true;
  }
  bool start(Value v) {
    if (open.size() >= 500) in.fail(Err::Limit, "JSON nested deeper than 500 levels");
    open.push_back(std::move(v));
    keys.emplace_back();
    return true;
  }
  bool end() {
    Value v = std::move(open.back());
    open.pop_back();
    keys.pop_back();
    return put(std::move(v));
  }

  bool null() { return put(Value::none()); }
  bool boolean(bool b) { return put(Value(b)); }
  bool number_integer(int64_t i) { return put(Value(i)); }
  bool number_unsigned(uint64_t u) { return put(in.integer(BigInt::parse(std::to_string(u), 10))); }
  bool number_float(double d, const std::string& text) {
    if (text.find_first_of(".eE") != std::string::npos) return put(Value(d));
    // An integer beyond 64 bits.
    const bool negative = text.starts_with('-');
    if (text.size() > 4300) in.fail(Err::Value, "Exceeds the limit (4300 digits) for integer string conversion");
    const BigInt big = BigInt::parse(std::string_view(text).substr(negative), 10);
    return put(in.integer(negative ? -big : big));
  }
  bool string(std::string& s) { return put(in.str(std::move(s))); }
  bool binary(binary_t&) { return false; }
  bool start_object(size_t) { return start(Value(in.dict())); }
  bool key(std::string& s) {
    keys.back() = in.str(std::move(s));
    return true;
  }
  bool end_object() { return end(); }
  bool start_array(size_t) { return start(in.list({})); }
  bool end_array() { return end(); }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) { return false; }

  Interp& in;
  Value result;
  std::vector<Value> open, keys;
};

}  // namespace

Value from_json(Interp& in, std::string_view text) {
  in.step_bytes(text.size());
  JsonReader reader{in, {}, {}, {}};
  if (!Json::sax_parse(text, &reader))
    in.fail(Err::Value, "the text is not JSON: {}", repr_of(text.substr(0, byte_offset(text, 60))));
  return std::move(reader.result);
}

}  // namespace tally::text::jinja
