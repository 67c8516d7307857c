// What the keywords of arrays and objects say.
#include <algorithm>
#include <unordered_set>

#include "text/grammar/schema_compiler.h"

namespace tally::grammar {

void SchemaCompiler::apply_array(Values& v, int schema, Keyword k, int value) {
  if (v.arrays.empty()) return;
  ArrayShape a;
  switch (k) {
    case Keyword::Items: {
      const int prefix = json().find(schema, "prefixItems");
      if (prefix >= 0) a.prefix.assign(static_cast<size_t>(json().size(prefix)), kAny);
      a.rest = schema_goal(value);
      a.said = true;
      a.seen = kUnbounded;
      if (a.rest == kNever) a.max = a.prefix.size();
      break;
    }
    case Keyword::PrefixItems:
      for (int i = 0; i < json().size(value); ++i) {
        a.prefix.push_back(schema_goal(json().child(value, i)));
        if (a.prefix.back() == kNever) a.max = std::min<uint64_t>(a.max, a.prefix.size() - 1);
      }
      a.declares = !a.prefix.empty();
      a.seen = a.prefix.size();
      break;
    case Keyword::Contains: {
      Contains c{schema_goal(value), 1, kUnbounded, 0, true};
      if (int m = json().find(schema, "minContains"); m >= 0) c.min = count_value(json(), m);
      if (int m = json().find(schema, "maxContains"); m >= 0) c.max = count_value(json(), m);
      a.min = std::min<uint64_t>(c.min, 1);
      a.contains.push_back(c);
      a.said = true;
      break;
    }
    case Keyword::MinItems:
      a.min = count_value(json(), value);
      if (a.min == kUnbounded)
        throw ConstraintError(json().pointer(value), "no array is as long as minItems asks", kUnbounded - 1,
                              kUnbounded);
      break;
    case Keyword::MaxItems:
      a.max = count_value(json(), value);
      break;
    default:
      a.unique = json().is(value, JsonKind::True);
  }
  meet_lists(v.arrays, std::vector<ArrayShape>{a});
}

bool SchemaCompiler::in(const KeySet& keys, std::string_view name) {
  if (keys.outside && std::binary_search(keys.names.begin(), keys.names.end(), name)) return false;
  bool matched = false;
  for (int p : keys.patterns) matched = matched || exprs_.has(p, name);
  return matched != keys.outside;
}

int SchemaCompiler::key_expression(const KeySet& keys) {
  int any = exprs_.either(keys.patterns);
  return keys.outside ? exprs_.negate(any) : any;
}

// The keys that additionalProperties of the schema speaks of.
KeySet SchemaCompiler::outside_of(int schema) {
  KeySet keys;
  keys.outside = true;
  const int properties = json().find(schema, "properties"), patterns = json().find(schema, "patternProperties");
  for (int i = 0; properties >= 0 && i < json().size(properties); ++i) keys.names.push_back(json().key(properties, i));
  std::sort(keys.names.begin(), keys.names.end());
  for (int i = 0; patterns >= 0 && i < json().size(patterns); ++i)
    keys.patterns.push_back(pattern(json().key(patterns, i), json().pointer(json().child(patterns, i))));
  return keys;
}

void SchemaCompiler::apply_object(Values& v, int schema, Keyword k, int value) {
  if (v.objects.empty()) return;
  ObjectShape o;
  std::unordered_set<std::string_view> names;
  switch (k) {
    case Keyword::Properties:
      for (int i = 0; i < json().size(value); ++i) {
        budget_.spend(1);
        o.properties.push_back({json().key(value, i), schema_goal(json().child(value, i))});
        if (document_.has_unevaluated()) o.seen.push_back(o.properties.back().name);
      }
      o.declares = !o.properties.empty();
      break;
    case Keyword::PatternProperties:
      for (int i = 0; i < json().size(value); ++i) {
        const int s = json().child(value, i);
        const int p = pattern(json().key(value, i), json().pointer(s));
        o.every.push_back({{false, {}, {p}}, schema_goal(s)});
        o.seen_patterns.push_back(p);
      }
      o.said = true;
      break;
    case Keyword::AdditionalProperties: {
      o.every.push_back({outside_of(schema), schema_goal(value)});
      const int properties = json().find(schema, "properties");  // in their order
      for (int i = 0; properties >= 0 && i < json().size(properties); ++i)
        o.properties.push_back({json().key(properties, i), kAny});
      o.said = true;
      o.seen_all = true;
      break;
    }
    case Keyword::PropertyNames: {
      const int refused = exprs_.negate(expand(schema_goal(value)).string);
      if (refused != ExprPool::kBottom) o.every.push_back({{false, {}, {refused}}, kNever});
      o.said = true;
      break;
    }
    case Keyword::Required:
      for (int i = 0; i < json().size(value); ++i) {
        const std::string_view name = json().text(json().child(value, i));
        if (names.insert(name).second) o.required.push_back(name);
      }
      break;
    case Keyword::MinProperties:
      o.min = count_value(json(), value);
      o.said = o.min > 0;
      break;
    default:
      o.max = count_value(json(), value);
  }
  meet_lists(v.objects, std::vector<ObjectShape>{std::move(o)});
}

void SchemaCompiler::apply_dependent(Values& v, Keyword k, int value) {
  budget_.path = json().pointer(value);
  for (int i = 0; i < json().size(value) && !v.objects.empty(); ++i) {
    const int dependent = json().child(value, i);
    ObjectShape without, with;
    without.properties.push_back({json().key(value, i), kNever});
    with.properties.push_back({json().key(value, i), kAny});
    with.required.push_back(json().key(value, i));
    std::vector<ObjectShape> cases{without};
    if (k == Keyword::DependentRequired) {
      if (json().size(dependent) == 0) continue;
      for (int j = 0; j < json().size(dependent); ++j) {
        const std::string_view name = json().text(json().child(dependent, j));
        if (name != with.required[0]) with.required.push_back(name);
      }
      cases.push_back(with);
    } else {
      std::vector<ObjectShape> more = expand_schema(dependent).objects;
      for (ObjectShape& o : more) o.declares = false;
      meet_lists(more, {with});
      cases.insert(cases.end(), more.begin(), more.end());
    }
    meet_lists(v.objects, cases);
  }
}

void SchemaCompiler::apply_unevaluated(Values& v, int schema) {
  if (int s = json().find(schema, "unevaluatedProperties"); s >= 0) {
    for (ObjectShape& o : v.objects) {
      if (o.seen_all) continue;
      KeyRule rule{{true, o.seen, o.seen_patterns}, schema_goal(s)};
      std::sort(rule.keys.names.begin(), rule.keys.names.end());
      o.every.push_back(std::move(rule));
      o.said = true;
      o.seen_all = true;
    }
  }
  if (int s = json().find(schema, "unevaluatedItems"); s >= 0) {
    const GoalId g = schema_goal(s);
    std::vector<ArrayShape> out;
    for (ArrayShape& a : v.arrays) {
      if (a.seen != kUnbounded) {
        ArrayShape rest;
        rest.prefix.assign(a.seen, kAny);
        rest.rest = g;
        for (const Contains& c : a.contains)
          if (c.evaluates) rest.rest = either(rest.rest, c.goal);
        rest.said = true;
        rest.seen = kUnbounded;
        if (!meet(a, rest)) continue;
      }
      out.push_back(std::move(a));
    }
    v.arrays = std::move(out);
  }
}

}  // namespace tally::grammar
