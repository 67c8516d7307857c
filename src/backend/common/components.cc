#include "backend/common/components.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "ops/fields.h"

namespace tally::backend {

namespace {

struct Group {
  std::string_view component, member;  // a segment or an op
};
constexpr std::array kGroups{
    Group{"experts", "experts"},     Group{"experts", "shared_expert"},
    Group{"attention", "attention"}, Group{"delta", "gated_delta"},
    Group{"delta", "short_conv"},    Group{"delta", "gated_norm"},
    Group{"ffn", "ffn gate/up"},     Group{"ffn", "ffn activation"},
    Group{"ffn", "ffn down"},        Group{"qkv", "qkv (attention)"},
    Group{"qkv", "qkv (delta)"},     Group{"qkv", "z"},
    Group{"qkv", "alpha/beta"},      Group{"head", "head"},
};

}  // namespace

bool belongs_to(const ledger::StepInfo& step, const std::string& component) {
  if (step.n_ops == 0) return false;  // inert
  bool is_group = false;
  for (const Group& g : kGroups) {
    if (g.component != component) continue;
    is_group = true;
    if (g.member == step.op || g.member == step.segment) return true;
  }
  return !is_group && (component == step.op || component == step.segment);
}

std::vector<std::string> component_list(const std::string& list) {
  std::vector<std::string> out;
  for (size_t at = 0; at <= list.size();) {
    size_t end = std::min(list.find(',', at), list.size());
    std::string item = list.substr(at, end - at);
    item.erase(0, item.find_first_not_of(' '));
    item.erase(item.find_last_not_of(' ') + 1);
    if (!item.empty()) out.push_back(item);
    at = end + 1;
  }
  return out;
}

void check_component(const std::string& component, std::span<const ledger::StepInfo> steps) {
  std::set<std::string> known;
  bool found = false;
  for (const ledger::StepInfo& s : steps) {
    known.insert(s.segment);
    if (!belongs_to(s, component)) continue;
    found = true;
    if (s.op == ops::Route::kName || s.op == ops::Embed::kName || s.op == ops::Input::kName)
      fail(ErrorCode::Usage, "component \"{}\" cannot be left out: what comes after cannot run without \"{}\"",
           component, s.op);
  }
  if (found) return;
  std::string names;
  for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
  fail(ErrorCode::Usage,
       "no step of this model belongs to component \"{}\"; there are experts, attention, delta, ffn, qkv, head and the "
       "segments {}",
       component, names);
}

std::string instruments_text(const Instruments& instruments) {
  std::string out;
  if (!instruments.without.empty()) out += " without " + instruments.without;
  if (instruments.inert != 0)
    out += fmt::format("{} {:g} % inert", out.empty() ? " with" : " and", 100 * instruments.inert);
  return out;
}

std::string shape_text(const ops::Program& program, int op) {
  const ops::WeightInfo* largest = nullptr;
  ops::weights_of(program.ops[op], [&](ops::WeightRef w) {
    const ops::WeightInfo& info = program.info(w);
    if (!largest || info.in * info.out * info.experts > largest->in * largest->out * largest->experts) largest = &info;
  });
  if (largest)
    return largest->experts > 1 ? fmt::format("{}x{}x{}", largest->experts, largest->out, largest->in)
                                : fmt::format("{}x{}", largest->out, largest->in);
  std::string text;
  ops::values_of(program.ops[op], [&](ops::Value v, bool is_output) {
    if (is_output) text = fmt::format("{}", program.info(v).cols);
  });
  return text;
}

}  // namespace tally::backend
