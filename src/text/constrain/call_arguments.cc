#include "text/constrain/call_arguments.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "text/constrain/trigger.h"
#include "text/grammar/schema.h"
#include "text/parse/tools.h"

namespace tally::constrain {
namespace {

using grammar::NodeId;
using grammar::RuleId;
using grammar::Rules;

constexpr std::string_view kAnyObject = R"({"type": "object"})";
constexpr std::string_view kEndParameter = "\n</parameter>\n", kEndValue = "</arg_value>\n", kGemmaQuote = "<|\"|>";

class ArgumentRules {
 public:
  ArgumentRules(Rules& rules, const ToolSchema& tool, Arguments how, std::vector<std::string>* warnings)
      : rules_(rules), tool_(tool), how_(how), warnings_(warnings) {}

  NodeId json() {
    if (tool_.parameters.empty()) return grammar::add_schema(rules_, kAnyObject);
    try {
      return grammar::add_schema(rules_, tool_.parameters);
    } catch (const grammar::ConstraintError& e) {
      warn(e.what());
      return grammar::add_schema(rules_, kAnyObject);
    }
  }

  NodeId members() {
    grammar::SchemaObject object;
    try {
      if (tool_.parameters.empty()) return free_members();
      object = grammar::add_object_properties(rules_, tool_.parameters);
      if (!object.exact) warn("only the kinds of its parameters are bound, one by one");
      read_kinds();
    } catch (const grammar::ConstraintError& e) {
      warn(e.what());
      return free_members();
    }
    std::vector<Member> all;
    for (const grammar::SchemaProperty& p : object.properties) {
      if (!writable(p.name)) {
        warn(fmt::format("the parameter \"{}\" cannot be written in this format", p.name));
        return free_members();
      }
      all.push_back({member(p), p.required});
    }
    return chain(all);
  }

 private:
  struct Member {
    NodeId node;
    bool required;
  };

  void warn(const std::string& why) {
    if (warnings_) warnings_->push_back(fmt::format("tool \"{}\": {}", tool_.name, why));
  }

  void read_kinds() {
    nlohmann::ordered_json function{{"name", tool_.name},
                                    {"parameters", nlohmann::ordered_json::parse(tool_.parameters)}};
    kinds_ = parse::ToolSet(nlohmann::ordered_json::array({{{"type", "function"}, {"function", function}}}));
  }

  bool writable(std::string_view key) const {
    if (key.empty()) return false;
    for (char c : key)
      if (!std::isalnum(uint8_t(c)) && c != '_' && uint8_t(c) < 0x80 && (how_ == Arguments::Python || !safe(c)))
        return false;
    return true;
  }
  static bool safe(char c) { return c == '-' || c == '.' || c == '$' || c == '/' || c == '@'; }

  // key, value and what closes it.
  NodeId member(const grammar::SchemaProperty& p) {
    switch (how_) {
      case Arguments::Function:
        return rules_.sequence({rules_.literal("<parameter=" + p.name + ">\n"), plain(p, kEndParameter)});
      case Arguments::Keys:
        return rules_.sequence({rules_.literal("<arg_key>" + p.name + "</arg_key>\n<arg_value>"), plain(p, kEndValue)});
      case Arguments::Gemma:
        return rules_.sequence({rules_.literal(p.name + ":"), gemma(p)});
      default:
        return rules_.sequence({rules_.literal(p.name + "="), p.value});
    }
  }

  bool may_be_text(const std::string& name) const {
    const parse::Kinds kinds = kinds_.all().front().kinds_of(name);
    return kinds & parse::kString;
  }

  // A value between tags: texts stand as they are, others as JSON.
  NodeId plain(const grammar::SchemaProperty& p, std::string_view end) {
    if (!p.strings.empty()) return one_of(p.strings, "", end);
    if (p.is_string || may_be_text(p.name)) {
      if (!p.any_string) warn(fmt::format("the texts of \"{}\" are not bound in this format", p.name));
      return rules_.terminal(text_up_to(end));
    }
    return rules_.sequence({p.value, rules_.literal(end)});
  }

  NodeId gemma(const grammar::SchemaProperty& p) {
    if (!p.strings.empty()) return one_of(p.strings, kGemmaQuote, kGemmaQuote);
    if (p.is_string) {
      if (!p.any_string) warn(fmt::format("the texts of \"{}\" are not bound in this format", p.name));
      return rules_.sequence({rules_.literal(kGemmaQuote), rules_.terminal(text_up_to(kGemmaQuote))});
    }
    const parse::Kinds kinds = kinds_.all().front().kinds_of(p.name);
    constexpr parse::Kinds kPlain = parse::kNull | parse::kBoolean | parse::kInteger | parse::kNumber;
    if (kinds != 0 && (kinds & ~kPlain) == 0) return p.value;
    warn(fmt::format("the value of \"{}\" is not bound in this format", p.name));
    return gemma_value();
  }

  NodeId one_of(const std::vector<std::string>& texts, std::string_view open, std::string_view close) {
    std::vector<NodeId> all;
    for (const std::string& text : texts) all.push_back(rules_.literal(std::string(open) + text + std::string(close)));
    return rules_.alternatives(all);
  }

  // Any value in Gemma's writing: JSON but for quotes and keys.
  NodeId gemma_value() {
    if (gemma_.id >= 0) return rules_.ref(gemma_);
    gemma_ = rules_.add_rule("gemma-value");
    const NodeId text = rules_.sequence({rules_.literal(kGemmaQuote), rules_.terminal(text_up_to(kGemmaQuote))});
    const NodeId scalar = grammar::add_schema(rules_, R"({"type": ["number", "boolean", "null"]})");
    grammar::ByteSet key;
    for (auto [a, b] : {std::pair('a', 'z'), {'A', 'Z'}, {'0', '9'}, {'_', '_'}, {'-', '-'}})
      key.add_range(uint8_t(a), uint8_t(b));
    const NodeId value = rules_.ref(gemma_);
    const NodeId pair = rules_.sequence({rules_.repeat(rules_.set(key), 1, 256), rules_.literal(":"), value});
    auto list = [&](std::string_view open, NodeId item, std::string_view close) {
      const NodeId more = rules_.repeat(rules_.sequence({rules_.literal(","), item}), 0, grammar::kUnbounded);
      return rules_.sequence(
          {rules_.literal(open), rules_.optional(rules_.sequence({item, more})), rules_.literal(close)});
    };
    rules_.define(gemma_, rules_.alternatives({text, scalar, list("[", value, "]"), list("{", pair, "}")}));
    return rules_.ref(gemma_);
  }

  // The members in the schema's order, optional ones or not. One rule for each place, so that this stays linear.
  NodeId chain(const std::vector<Member>& all) {
    const std::string_view comma = how_ == Arguments::Python ? ", " : how_ == Arguments::Gemma ? "," : "";
    NodeId first = rules_.empty(), later = rules_.empty();  // what may follow before and behind a first member
    for (size_t i = all.size(); i-- > 0;) {
      auto behind = [&](NodeId before, std::string_view separator, NodeId skip) {
        const NodeId with = rules_.sequence({rules_.literal(separator), all[i].node, before});
        const RuleId rule = rules_.add_rule(fmt::format("{}-{}", tool_.name, i));
        rules_.define(rule, all[i].required ? with : rules_.alternatives({with, skip}));
        return rules_.ref(rule);
      };
      const NodeId next_first = behind(later, "", first);
      later = comma.empty() ? next_first : behind(later, comma, later);
      first = next_first;
    }
    return first;
  }

  // Members of which nothing is known.
  NodeId free_members() {
    grammar::ByteSet key;
    for (auto [a, b] : {std::pair('a', 'z'), {'A', 'Z'}, {'0', '9'}, {'_', '_'}, {'-', '-'}, {'.', '.'}})
      key.add_range(uint8_t(a), uint8_t(b));
    const NodeId name = rules_.repeat(rules_.set(key), 1, 256);
    auto many = [&](std::string_view open, std::string_view between, std::string_view close) {
      return rules_.repeat(
          rules_.sequence({rules_.literal(open), name, rules_.literal(between), rules_.terminal(text_up_to(close))}), 0,
          grammar::kUnbounded);
    };
    if (how_ == Arguments::Function) return many("<parameter=", ">\n", kEndParameter);
    if (how_ == Arguments::Keys) return many("<arg_key>", "</arg_key>\n<arg_value>", kEndValue);
    const bool gemma = how_ == Arguments::Gemma;
    const NodeId value = gemma ? gemma_value() : grammar::add_schema(rules_, "{}");
    const NodeId pair = rules_.sequence({name, rules_.literal(gemma ? ":" : "="), value});
    const NodeId more = rules_.sequence({rules_.literal(gemma ? "," : ", "), pair});
    return rules_.optional(rules_.sequence({pair, rules_.repeat(more, 0, grammar::kUnbounded)}));
  }

  Rules& rules_;
  const ToolSchema& tool_;
  Arguments how_;
  std::vector<std::string>* warnings_;
  parse::ToolSet kinds_;
  RuleId gemma_;
};

}  // namespace

NodeId add_arguments(Rules& rules, const ToolSchema& tool, Arguments how, std::vector<std::string>* warnings) {
  ArgumentRules arguments(rules, tool, how, warnings);
  return how == Arguments::Json ? arguments.json() : arguments.members();
}

}  // namespace tally::constrain
