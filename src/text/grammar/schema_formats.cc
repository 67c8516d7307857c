// The formats of JSON Schema's validation vocabulary as regular expressions, and what is kept for the whole process.
#include <fmt/format.h>

#include <array>
#include <mutex>
#include <string>
#include <unordered_map>

#include "text/grammar/schema_expr.h"

namespace tally::grammar {
namespace {

// RFC 3339, section 5.6, with the days of each month and leap years; the 60th second is refused.
#define TALLY_DATE                                                                                        \
  "(?!0000)(?:\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|" \
  "02-(?:0[1-9]|1\\d|2[0-8]))|(?:\\d\\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
#define TALLY_TIME "(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d+)?(?:Z|[+-](?:[01]\\d|2[0-3]):[0-5]\\d)"
#define TALLY_BYTE "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
#define TALLY_IPV4 TALLY_BYTE "(?:\\." TALLY_BYTE "){3}"
#define TALLY_H16 "[0-9A-Fa-f]{1,4}"
#define TALLY_LS32 "(?:" TALLY_H16 ":" TALLY_H16 "|" TALLY_IPV4 ")"
// RFC 3986, section 3.2.2.
#define TALLY_IPV6                                                                                                 \
  "(?:(?:" TALLY_H16 ":){6}" TALLY_LS32 "|::(?:" TALLY_H16 ":){5}" TALLY_LS32 "|(?:" TALLY_H16 ")?::(?:" TALLY_H16 \
  ":){4}" TALLY_LS32 "|(?:(?:" TALLY_H16 ":){0,1}" TALLY_H16 ")?::(?:" TALLY_H16 ":){3}" TALLY_LS32                \
  "|(?:(?:" TALLY_H16 ":){0,2}" TALLY_H16 ")?::(?:" TALLY_H16 ":){2}" TALLY_LS32 "|(?:(?:" TALLY_H16               \
  ":){0,3}" TALLY_H16 ")?::" TALLY_H16 ":" TALLY_LS32 "|(?:(?:" TALLY_H16 ":){0,4}" TALLY_H16 ")?::" TALLY_LS32    \
  "|(?:(?:" TALLY_H16 ":){0,5}" TALLY_H16 ")?::" TALLY_H16 "|(?:(?:" TALLY_H16 ":){0,6}" TALLY_H16 ")?::)"
#define TALLY_HEX2 "%[0-9A-Fa-f]{2}"
#define TALLY_HOST(chars)                                                 \
  "(?:(?:[" chars "!$&'()*+,;=:]|" TALLY_HEX2 ")*@)?(?:\\[(?:" TALLY_IPV6 \
  "|[vV][0-9A-Fa-f]+\\.[A-Za-z0-9\\-._~!$&'"                              \
  "()*+,;=:]+)\\]|(?:[" chars "!$&'()*+,;=]|" TALLY_HEX2 ")*)(?::\\d*)?"
#define TALLY_P(chars) "(?:[" chars "!$&'()*+,;=:@]|" TALLY_HEX2 ")"
#define TALLY_TAIL(chars, more) \
  "(?:\\?(?:[" chars "!$&'()*+,;=:@/?" more "]|" TALLY_HEX2 ")*)?(?:#(?:[" chars "!$&'()*+,;=:@/?]|" TALLY_HEX2 ")*)?"
#define TALLY_HIER(chars)                                                                                            \
  "(?://" TALLY_HOST(chars) "(?:/" TALLY_P(chars) "*)*|/(?:" TALLY_P(chars) "+(?:/" TALLY_P(chars) "*)*)?|" TALLY_P( \
      chars) "+(?:/" TALLY_P(chars) "*)*|)"
#define TALLY_NO_SCHEME(chars) "(?![^/?#]*:)" TALLY_HIER(chars)
#define TALLY_SCHEME "[A-Za-z][A-Za-z0-9+.\\-]*:"
#define TALLY_UNRESERVED "A-Za-z0-9\\-._~"
// RFC 3987: ucschar and iprivate.
#define TALLY_UCS                                                                                                \
  TALLY_UNRESERVED                                                                                               \
  "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF\\u{10000}-\\u{1FFFD}\\u{20000}-\\u{2FFFD}\\u{30000}-\\u{3FFFD}" \
  "\\u{40000}-\\u{4FFFD}\\u{50000}-\\u{5FFFD}\\u{60000}-\\u{6FFFD}\\u{70000}-\\u{7FFFD}\\u{80000}-\\u{8FFFD}"    \
  "\\u{90000}-\\u{9FFFD}\\u{A0000}-\\u{AFFFD}\\u{B0000}-\\u{BFFFD}\\u{C0000}-\\u{CFFFD}\\u{D0000}-\\u{DFFFD}"    \
  "\\u{E1000}-\\u{EFFFD}"
#define TALLY_PRIVATE_USE "\\uE000-\\uF8FF\\u{F0000}-\\u{FFFFD}\\u{100000}-\\u{10FFFD}"
#define TALLY_LABEL "[A-Za-z0-9](?:[A-Za-z0-9\\-]{0,61}[A-Za-z0-9])?"
#define TALLY_ATOM "[A-Za-z0-9!#$%&'*+/=?^_`{|}~\\-]+"
#define TALLY_POINTER "(?:/(?:[^~/]|~[01])*)*"

#define TALLY_CLOCK "(?:\\d+S|\\d+M(?:\\d+S)?|\\d+H(?:\\d+M(?:\\d+S)?)?)"
#define TALLY_VARNAME "(?:\\.?(?:[A-Za-z0-9_]|" TALLY_HEX2 "))"

struct Format {
  std::string_view name;
  const char* pattern;
};
constexpr Format kFormats[] = {
    {"date", "^" TALLY_DATE "$"},
    {"time", "^" TALLY_TIME "$"},
    {"date-time", "^" TALLY_DATE "T" TALLY_TIME "$"},
    {"duration",  // RFC 3339, appendix A: no unit may be skipped
     "^P(?:\\d+W|(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)(?:T" TALLY_CLOCK ")?|T" TALLY_CLOCK ")$"},
    {"email",  // RFC 5321, section 4.1.2
     "^(?:" TALLY_ATOM "(?:\\." TALLY_ATOM ")*|\"(?:[ !#-\\[\\]-~]|\\\\[ -~])*\")@(?:" TALLY_LABEL "(?:\\." TALLY_LABEL
     ")*|\\[(?:" TALLY_IPV4 "|IPv6:" TALLY_IPV6 ")\\])$"},
    {"hostname", "^" TALLY_LABEL "(?:\\." TALLY_LABEL ")*$"},  // RFC 1123; the whole has at most 253 characters
    {"ipv4", "^" TALLY_IPV4 "$"},
    {"ipv6", "^" TALLY_IPV6 "$"},
    {"uuid", "^[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"},
    {"uri", "^" TALLY_SCHEME TALLY_HIER(TALLY_UNRESERVED) TALLY_TAIL(TALLY_UNRESERVED, "") "$"},
    {"uri-reference", "^(?:" TALLY_SCHEME TALLY_HIER(TALLY_UNRESERVED) "|" TALLY_NO_SCHEME(
                          TALLY_UNRESERVED) ")" TALLY_TAIL(TALLY_UNRESERVED, "") "$"},
    {"iri", "^" TALLY_SCHEME TALLY_HIER(TALLY_UCS) TALLY_TAIL(TALLY_UCS, TALLY_PRIVATE_USE) "$"},
    {"iri-reference", "^(?:" TALLY_SCHEME TALLY_HIER(TALLY_UCS) "|" TALLY_NO_SCHEME(TALLY_UCS) ")" TALLY_TAIL(
                          TALLY_UCS, TALLY_PRIVATE_USE) "$"},
    {"uri-template",  // RFC 6570, section 2
     "^(?:[^\\x00-\\x20\"<>%\\\\^`{|}\\x7F-\\x9F]|" TALLY_HEX2 "|\\{[+#./;?&=,!@|]?(?!\\.)" TALLY_VARNAME
     "+(?::[1-9]\\d{0,3}|\\*)?(?:,(?!\\.)" TALLY_VARNAME "+(?::[1-9]\\d{0,3}|\\*)?)*\\})*$"},
    {"json-pointer", "^" TALLY_POINTER "$"},  // RFC 6901
    {"relative-json-pointer", "^(?:0|[1-9]\\d*)(?:#|" TALLY_POINTER ")$"},
};

// A bounded table: emptied when it grows beyond its share.
template <typename T>
class ProcessCache {
 public:
  std::shared_ptr<const T> find(const std::string& key) {
    std::lock_guard lock(mutex_);
    auto it = known_.find(key);
    return it == known_.end() ? nullptr : it->second;
  }
  void keep(const std::string& key, const std::shared_ptr<const T>& value) {
    const size_t size = key.size() + value->next.size() * 4 + value->accepting.size();
    if (size > kMost / 8) return;
    std::lock_guard lock(mutex_);
    if (size_ + size > kMost) {
      known_.clear();
      size_ = 0;
    }
    if (known_.emplace(key, value).second) size_ += size;
  }

 private:
  static constexpr size_t kMost = 32u << 20;
  std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<const T>> known_;
  size_t size_ = 0;
};

ProcessCache<Dfa>& terminals() {
  static ProcessCache<Dfa> cache;
  return cache;
}
ProcessCache<SymbolDfa>& automata() {
  static ProcessCache<SymbolDfa> cache;
  return cache;
}

}  // namespace

const char* format_pattern(std::string_view name, const std::string& path) {
  for (const Format& f : kFormats)
    if (f.name == name) return f.pattern;
  for (std::string_view known : {"regex", "idn-email", "idn-hostname"}) {
    if (name == known)
      throw ConstraintError("unsupported", path, fmt::format("the format \"{}\" cannot be enforced", name));
  }
  return nullptr;
}

std::shared_ptr<const Dfa> cached_terminal(const std::string& key) { return terminals().find(key); }
void cache_terminal(const std::string& key, const std::shared_ptr<const Dfa>& dfa) { terminals().keep(key, dfa); }
std::shared_ptr<const SymbolDfa> cached_automaton(const std::string& key) { return automata().find(key); }
void cache_automaton(const std::string& key, const std::shared_ptr<const SymbolDfa>& dfa) { automata().keep(key, dfa); }

}  // namespace tally::grammar
