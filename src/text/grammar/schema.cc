#include "text/grammar/schema.h"

#include <algorithm>

#include "text/grammar/schema_emit.h"

namespace tally::grammar {

SchemaCompiler::SchemaCompiler(std::string_view text, const SchemaOptions& options, std::vector<std::string>* warnings)
    : options_(options),
      budget_{options.max_automaton_states, options.max_work, options.max_work, ""},
      document_(JsonDocument::parse(text, {options.max_bytes, options.max_depth}), warnings),
      exprs_(budget_),
      graph_(options.max_nodes, budget_),
      warnings_(warnings) {
  goals_.resize(2);  // kAny and kNever
  goal_ids_.emplace(std::vector<Literal>{}, kAny);
}

NodeId SchemaCompiler::write(Rules& rules, int node) {
  NodeId out = graph_.write(rules, {node})[0];
  if (rules.node(out).kind == NodeKind::Nothing)
    throw ConstraintError("unsatisfiable", "", "no value satisfies the schema");
  return out;
}

SchemaObject SchemaCompiler::object(Rules& rules) {
  const Values& v = expand(schema_goal(document_.root()));
  const bool only =
      !v.null && !v.yes && !v.no && v.number == ExprPool::kBottom && v.string == ExprPool::kBottom && v.arrays.empty();
  if (v.objects.empty()) throw ConstraintError("unsatisfiable", "", "no object satisfies the schema");
  if (v.objects.size() != 1)
    unsupported(document_.root(), "the properties of an object that may have one of several forms");
  const ObjectPlan p = plan(v.objects[0]);
  SchemaObject out;
  std::vector<int> nodes;
  for (const Entry& e : p.entries) {
    SchemaProperty property;
    property.name = e.name;
    property.required = e.required;
    const Values values = expand(e.goal);
    property.is_string = !values.null && !values.yes && !values.no && values.number == ExprPool::kBottom &&
                         values.arrays.empty() && values.objects.empty() && values.string != ExprPool::kBottom;
    property.any_string = property.is_string && values.string == ExprPool::kTop;
    if (property.is_string && exprs_[values.string].kind == ExprKind::Words)
      property.strings = exprs_[values.string].words;
    out.properties.push_back(std::move(property));
    nodes.push_back(value_node(e.goal));
  }
  out.more = !p.cells.empty();
  if (out.more) nodes.push_back(p.cells.size() == 1 ? value_node(p.cells[0].goal) : any_value_rule());
  const bool all_others =
      !out.more || p.cells[0].keys == ExprPool::kTop || exprs_[p.cells[0].keys].kind == ExprKind::Not;
  out.exact = only && p.all_some == 0 && p.cells.size() <= 1 && all_others && p.min <= v.objects[0].required.size() &&
              p.max == kUnbounded;
  root_node();  // writes the bodies of all rules
  const std::vector<NodeId> written = graph_.write(rules, nodes);
  for (size_t i = 0; i < out.properties.size(); ++i) {
    out.properties[i].value = written[i];
    if (out.properties[i].required && rules.node(written[i]).kind == NodeKind::Nothing)
      throw ConstraintError("unsatisfiable", "",
                            "no value satisfies the required property \"" + out.properties[i].name + '"');
  }
  std::erase_if(out.properties, [&](const SchemaProperty& x) { return rules.node(x.value).kind == NodeKind::Nothing; });
  if (out.more) out.more_value = written.back();
  return out;
}

Rules compile_schema(std::string_view json_text, const SchemaOptions& options, std::vector<std::string>* warnings) {
  Rules rules;
  rules.set_root(add_schema(rules, json_text, options, warnings));
  return rules;
}

NodeId add_schema(Rules& rules, std::string_view json_text, const SchemaOptions& options,
                  std::vector<std::string>* warnings) {
  SchemaCompiler compiler(json_text, options, warnings);
  return compiler.write(rules, compiler.root_node());
}

SchemaObject add_object_properties(Rules& rules, std::string_view json_text, const SchemaOptions& options,
                                   std::vector<std::string>* warnings) {
  return SchemaCompiler(json_text, options, warnings).object(rules);
}

}  // namespace tally::grammar
