#include "text/constrain/call_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "text/constrain/call_arguments.h"
#include "text/constrain/call_form.h"
#include "text/constrain/trigger.h"
#include "text/parse/reader.h"

namespace tally::constrain {
namespace {

using grammar::NodeId;
using grammar::RuleId;
using grammar::Rules;

bool is_mark(char c) { return c >= '\x01' && c <= '\x04'; }

// A form's text as a trigger watches for it: white space at a mark is free.
std::string watched(std::string_view form) {
  std::string out;
  for (char c : form) {
    if (c == '\x04')
      out += kDigits;
    else if (is_mark(c))
      out += kSpace;
    else if (out.empty() || out.back() != kSpace || (c != ' ' && c != '\n'))
      out += c;
  }
  return out;
}

class CallRulesBuilder {
 public:
  explicit CallRulesBuilder(const CallRequest& request) : request_(request) {
    family_ = parse::find_family(request.family);
    if (!family_) fail(ErrorCode::BadInput, "there is no output format named \"{}\"", request.family);
    for (const CallForm& form : call_forms())
      if (form.family == request.family) forms_.push_back(&form);
    CHECK(!forms_.empty(), "no form of calls for {}", request.family);
    if (request.tools.empty()) fail(ErrorCode::BadInput, "there is no tool that may be called");
    for (const ToolSchema& tool : request.tools) check_name(tool.name);
  }

  CallRules build() {
    arguments_.resize(forms_.size() * request_.tools.size());
    const NodeId answer = request_.required ? calls() : free_answer();
    rules_.set_root(request_.required ? behind_reasoning_required(answer) : behind_reasoning(answer));
    CallRules out{std::move(rules_), std::move(warnings_), markers()};
    std::sort(out.warnings.begin(), out.warnings.end());
    out.warnings.erase(std::unique(out.warnings.begin(), out.warnings.end()), out.warnings.end());
    return out;
  }

 private:
  void check_name(const std::string& name) const {
    bool ok = parse::is_name(name);
    if (forms_.front()->arguments == Arguments::Python) ok = ok && name.find_first_of(":/") == name.npos;
    if (!ok)
      fail(ErrorCode::BadInput,
           "the tool name \"{}\" cannot be written in the model's format; use letters, digits, _ and -", name);
  }

  // The text of a form: as it is usually written, or with free white space.
  NodeId written(std::string_view form, bool free) {
    std::vector<NodeId> parts;
    std::string text;
    auto flush = [&] {
      if (!text.empty()) parts.push_back(rules_.literal(text));
      text.clear();
    };
    for (char c : form) {
      if (!is_mark(c)) {
        text += c;
      } else if (c == '\x04') {
        flush();
        grammar::ByteSet digits;
        digits.add_range('0', '9');
        parts.push_back(rules_.repeat(rules_.set(digits), 1, 4));
      } else if (free) {
        flush();
        parts.push_back(space(16));
      } else {
        text += c == '\x01' ? "" : c == '\x02' ? " " : "\n";
      }
    }
    flush();
    return rules_.sequence(parts);
  }

  NodeId space(uint64_t most) {
    grammar::ByteSet set;
    for (char c : {' ', '\t', '\r', '\n'}) set.add(uint8_t(c));
    return rules_.repeat(rules_.set(set), 0, most);
  }

  // What stands behind a call's name up to the end of the call.
  NodeId arguments(size_t form, size_t tool) {
    RuleId& rule = arguments_[form * request_.tools.size() + tool];
    if (rule.id < 0) {
      rule = rules_.add_rule(request_.tools[tool].name);
      rules_.define(rule, add_arguments(rules_, request_.tools[tool], forms_[form]->arguments, &warnings_));
    }
    return rules_.ref(rule);
  }
  NodeId call(size_t f, size_t t) {
    const CallForm& form = *forms_[f];
    return rules_.sequence({written(form.before, false), rules_.literal(request_.tools[t].name),
                            written(form.after, false), arguments(f, t), written(form.behind, false)});
  }
  NodeId any_call(size_t f) {
    std::vector<NodeId> all;
    for (size_t t = 0; t < request_.tools.size(); ++t) all.push_back(call(f, t));
    const RuleId rule = rules_.add_rule("call");
    rules_.define(rule, rules_.alternatives(all));
    return rules_.ref(rule);
  }

  // Nothing but calls, as the family usually writes them.
  NodeId calls() {
    const CallForm& form = *forms_.front();
    const NodeId one = any_call(0);
    NodeId inner = one;
    if (!form.next.empty() && request_.parallel)
      inner = rules_.sequence(
          {one, rules_.repeat(rules_.sequence({written(form.next, false), one}), 0, grammar::kUnbounded)});
    const RuleId rule = rules_.add_rule("calls");
    rules_.define(rule, rules_.sequence({written(form.open, false), inner, written(form.close, false)}));
    const NodeId opened = rules_.ref(rule);
    if (!form.next.empty() || !request_.parallel || form.at_start) return opened;
    return rules_.sequence({opened, rules_.repeat(rules_.sequence({rules_.optional(rules_.literal("\n")), opened}), 0,
                                                  grammar::kUnbounded)});
  }

  // Text in which calls may begin; each is bound from its name on.
  NodeId free_answer() {
    std::vector<Trigger> triggers;
    std::vector<std::string> stems;
    for (const CallForm* form : forms_) {
      stems.push_back(
          watched(form->unopened ? std::string(form->before) : std::string(form->open) + std::string(form->before)));
      if (form->at_start) stems.back().insert(0, 1, kSpace);
      for (const ToolSchema& tool : request_.tools) {
        std::string after = watched(form->after);
        while (!after.empty() && after.back() == kSpace) after.pop_back();
        triggers.push_back({stems.back(), tool.name + after});
      }
    }
    const TriggerText text(triggers, forms_.front()->at_start);
    const RuleId answer = rules_.add_rule("answer");
    std::vector<NodeId> ways{rules_.terminal(text.without())};
    for (size_t f = 0; f < forms_.size(); ++f) {
      if (std::find(stems.begin(), stems.begin() + long(f), stems[f]) != stems.begin() + long(f)) continue;
      std::vector<NodeId> names;
      for (size_t g = f; g < forms_.size(); ++g)
        for (size_t t = 0; stems[g] == stems[f] && t < request_.tools.size(); ++t) names.push_back(named_call(g, t));
      const NodeId behind = forms_[f]->at_start ? anything() : rules_.ref(answer);
      if (const auto begin = text.up_to(stems[f]))
        ways.push_back(rules_.sequence({rules_.terminal(begin), rules_.alternatives(names), behind}));
    }
    rules_.define(answer, rules_.alternatives(ways));
    return rules_.ref(answer);
  }

  NodeId anything() {
    grammar::ByteSet all;
    all.add_range(0, 255);
    return rules_.repeat(rules_.set(all), 0, grammar::kUnbounded);
  }

  // From the name to the end of the call, and of the list it stands in.
  NodeId named_call(size_t f, size_t t) {
    const CallForm& form = *forms_[f];
    NodeId rest = rules_.empty();
    if (!form.unopened) {
      rest = written(form.close, true);
      if (!form.next.empty() && !form.close.empty())
        rest = rules_.sequence(
            {rules_.repeat(rules_.sequence({written(form.next, true), any_call(f)}), 0, grammar::kUnbounded), rest});
    }
    return rules_.sequence({rules_.literal(request_.tools[t].name), written(form.after, true), arguments(f, t),
                            written(form.behind, true), rest});
  }

  bool opened() const {
    const size_t open = request_.prompt_opens.rfind(family_->think_open),
                 close = request_.prompt_opens.rfind(family_->think_close);
    return open != std::string_view::npos && (close == std::string_view::npos || open > close);
  }
  NodeId up_to(std::string_view tag) { return rules_.terminal(text_up_to(tag)); }

  // Reasoning is free, and may be all there is.
  NodeId behind_reasoning(NodeId answer) {
    const std::string_view open = family_->think_open, close = family_->think_close;
    if (open.empty()) return answer;
    const NodeId block =
        rules_.alternatives({rules_.terminal(text_without(close)), rules_.sequence({up_to(close), answer})});
    if (opened()) return block;
    return rules_.alternatives({rules_.sequence({space(16), rules_.literal(open), block}), answer});
  }

  // It must end, and calls follow.
  NodeId behind_reasoning_required(NodeId answer) {
    if (family_->whole)
      return rules_.sequence(
          {rules_.optional(rules_.sequence({rules_.literal("<|channel|>analysis<|message|>"), up_to("<|end|>"),
                                            rules_.literal("<|start|>assistant")})),
           answer});
    const std::string_view open = family_->think_open, close = family_->think_close;
    const NodeId gap = space(2);
    if (open.empty()) return rules_.sequence({gap, answer});
    if (opened()) return rules_.sequence({up_to(close), gap, answer});
    const NodeId block = rules_.sequence({space(2), rules_.literal(open), up_to(close)});
    return rules_.sequence({rules_.optional(block), gap, answer});
  }

  // What stands between angle or square brackets in the texts of the format.
  std::vector<std::string> markers() const {
    std::vector<std::string> out;
    auto add = [&](std::string_view text) {
      for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '<' && text[i] != '[') continue;
        const size_t end = text.find(text[i] == '<' ? '>' : ']', i);
        if (end != text.npos && end > i + 1) out.emplace_back(text.substr(i, end + 1 - i));
      }
    };
    for (const CallForm* f : forms_)
      for (std::string_view text : {f->open, f->before, f->after, f->behind, f->next, f->close}) add(text);
    add(family_->think_open), add(family_->think_close);
    for (const parse::Wrapper& w : family_->wrappers) add(w.open), add(w.close);
    if (family_->whole)
      for (std::string_view text : {"<|channel|>", "<|message|>", "<|end|>", "<|start|>", "<|constrain|>"}) add(text);
    if (family_->name == "gemma4") add("<|\"|>"), add("<|channel>");
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  const CallRequest& request_;
  const parse::Family* family_ = nullptr;
  std::vector<const CallForm*> forms_;
  Rules rules_;
  std::vector<RuleId> arguments_;
  std::vector<std::string> warnings_;
};

}  // namespace

CallRules call_rules(const CallRequest& request) { return CallRulesBuilder(request).build(); }

}  // namespace tally::constrain
