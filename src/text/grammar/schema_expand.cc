// What each keyword says about values.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "text/grammar/schema_compiler.h"
#include "text/grammar/spelling.h"

namespace tally::grammar {
namespace {

Expr atom(ExprKind kind, const std::string& path) {
  Expr e;
  e.kind = kind;
  e.path = path;
  return e;
}

}  // namespace

void SchemaCompiler::unsupported(int value, const std::string& what) const {
  throw ConstraintError("unsupported", json().pointer(value), what);
}

Values SchemaCompiler::expand_literal(Literal l) {
  const int id = static_cast<int>(l / 8);
  const Part part = static_cast<Part>(l / 2 % 4);
  const bool negative = l % 2 != 0;
  if (part == Part::Const) return negative ? complement_of(expand_const(id)) : expand_const(id);
  const Values& v = part == Part::Schema ? expand_schema(id) : expand(id);
  return negative ? complement_of(v) : v;
}

const Values& SchemaCompiler::expand_schema(int schema) {
  schema = document_.follow(schema);
  if (auto it = schemas_.find(schema); it != schemas_.end()) return *it->second;
  if (open_.empty()) open_.assign(json().n_values(), 0);
  if (open_[schema] != 0) {
    throw ConstraintError("reference", json().pointer(schema),
                          "this schema refers to itself without a value between: it says nothing about when to end");
  }
  const Deeper deeper(*this, schema);
  open_[schema] = 1;
  auto v = std::make_unique<Values>();
  if (json().is(schema, JsonKind::False)) *v = Values::none();
  if (json().is(schema, JsonKind::Object)) {
    for (int i = 0; i < json().size(schema); ++i) {
      budget_.spend(2);
      const Keyword k = keyword_of(json().key(schema, i));
      if (k != Keyword::Unknown) apply(*v, schema, k, json().child(schema, i));
    }
    if (document_.has_unevaluated()) apply_unevaluated(*v, schema);
  }
  open_[schema] = 0;
  return *schemas_.emplace(schema, std::move(v)).first->second;
}

Values SchemaCompiler::expand_const(int value) {
  Values v = Values::none();
  const std::string path = json().pointer(value);
  switch (json().kind(value)) {
    case JsonKind::Null:
      v.null = true;
      break;
    case JsonKind::True:
      v.yes = true;
      break;
    case JsonKind::False:
      v.no = true;
      break;
    case JsonKind::Number: {
      Expr e = atom(ExprKind::Numbers, path);
      e.numbers.push_back(decimal(value));
      v.number = exprs_.add(std::move(e));
      break;
    }
    case JsonKind::String: {
      Expr e = atom(ExprKind::Words, path);
      e.words.emplace_back(json().text(value));
      v.string = exprs_.add(std::move(e));
      break;
    }
    case JsonKind::Array: {
      ArrayShape a;
      for (int i = 0; i < json().size(value); ++i) a.prefix.push_back(const_goal(json().child(value, i)));
      a.rest = kNever;
      a.said = true;
      a.min = a.max = a.prefix.size();
      v.arrays.push_back(std::move(a));
      break;
    }
    case JsonKind::Object: {
      ObjectShape o;
      KeyRule closed{{true, {}, {}}, kNever};
      for (int i = 0; i < json().size(value); ++i) {
        o.properties.push_back({json().key(value, i), const_goal(json().child(value, i))});
        o.required.push_back(json().key(value, i));
        closed.keys.names.push_back(json().key(value, i));
      }
      std::sort(closed.keys.names.begin(), closed.keys.names.end());
      o.every.push_back(std::move(closed));
      o.said = true;
      v.objects.push_back(std::move(o));
      break;
    }
  }
  return v;
}

Values SchemaCompiler::expand_enum(int list) {
  Values v = Values::none();
  Expr words = atom(ExprKind::Words, json().pointer(list)), numbers = atom(ExprKind::Numbers, words.path);
  for (int i = 0; i < json().size(list); ++i) {
    const int c = json().child(list, i);
    budget_.spend(1);
    if (json().is(c, JsonKind::String)) {
      words.words.emplace_back(json().text(c));
    } else if (json().is(c, JsonKind::Number)) {
      numbers.numbers.push_back(decimal(c));
    } else {
      unite(v, expand_const(c));
    }
  }
  v.string = exprs_.add(std::move(words));
  v.number = exprs_.add(std::move(numbers));
  return v;
}

Values SchemaCompiler::expand_types(int value) {
  Values v = Values::none();
  auto add = [&](std::string_view t) {
    if (t == "null") v.null = true;
    if (t == "boolean") v.yes = v.no = true;
    if (t == "string") v.string = ExprPool::kTop;
    if (t == "array") v.arrays = std::vector<ArrayShape>(1);
    if (t == "object") v.objects = std::vector<ObjectShape>(1);
    if (t == "number") v.number = ExprPool::kTop;
    if (t == "integer" && v.number != ExprPool::kTop)
      v.number = exprs_.add(atom(ExprKind::Integer, json().pointer(value)));
  };
  if (json().is(value, JsonKind::String)) {
    add(json().text(value));
  } else {
    for (int i = 0; i < json().size(value); ++i) add(json().text(json().child(value, i)));
  }
  return v;
}

void SchemaCompiler::apply(Values& v, int schema, Keyword k, int value) {
  switch (k) {
    case Keyword::Type:
      return meet(v, expand_types(value));
    case Keyword::Enum:
      return meet(v, expand_enum(value));
    case Keyword::Const:
      return meet(v, expand_const(value));
    case Keyword::MultipleOf:
    case Keyword::Maximum:
    case Keyword::ExclusiveMaximum:
    case Keyword::Minimum:
    case Keyword::ExclusiveMinimum:
      return apply_numeric(v, k, value);
    case Keyword::MaxLength:
    case Keyword::MinLength:
    case Keyword::Pattern:
    case Keyword::Format:
      return apply_string(v, k, value);
    case Keyword::Items:
    case Keyword::PrefixItems:
    case Keyword::Contains:
    case Keyword::MaxItems:
    case Keyword::MinItems:
    case Keyword::UniqueItems:
      return apply_array(v, schema, k, value);
    case Keyword::Properties:
    case Keyword::PatternProperties:
    case Keyword::AdditionalProperties:
    case Keyword::PropertyNames:
    case Keyword::Required:
    case Keyword::MaxProperties:
    case Keyword::MinProperties:
      return apply_object(v, schema, k, value);
    case Keyword::DependentRequired:
    case Keyword::DependentSchemas:
      return apply_dependent(v, k, value);
    default:
      return apply_logic(v, schema, k, value);
  }
}

void SchemaCompiler::apply_numeric(Values& v, Keyword k, int value) {
  const bool least = k == Keyword::Minimum || k == Keyword::ExclusiveMinimum;
  Expr e = atom(k == Keyword::MultipleOf ? ExprKind::Multiple
                : least                  ? ExprKind::AtLeast
                                         : ExprKind::AtMost,
                json().pointer(value));
  e.bound = decimal(value);
  e.min = k == Keyword::ExclusiveMinimum || k == Keyword::ExclusiveMaximum;
  if (k == Keyword::MultipleOf && e.bound.digits.size() > 18)
    throw ConstraintError(e.path, "multipleOf has too many digits", 18, e.bound.digits.size());
  if (v.number != ExprPool::kBottom) v.number = exprs_.both(v.number, exprs_.add(std::move(e)));
}

int SchemaCompiler::pattern(std::string_view text, const std::string& path) {
  auto [it, fresh] = patterns_.try_emplace(std::string(text), -1);
  if (fresh) {
    Expr e = atom(ExprKind::Pattern, path);
    e.text = text;
    it->second = exprs_.add(std::move(e));
    exprs_.strings(it->second);  // refuses what is no regular expression even where it is not needed
  }
  return it->second;
}

void SchemaCompiler::apply_string(Values& v, Keyword k, int value) {
  const std::string path = json().pointer(value);
  int e = ExprPool::kTop;
  if (k == Keyword::Pattern) {
    e = pattern(json().text(value), path);
  } else if (k == Keyword::Format) {
    if (!options_.formats) return;
    if (v.string == ExprPool::kBottom) return;
    if (format_pattern(json().text(value), path) == nullptr) {
      if (warnings_ != nullptr && warnings_->size() < 50)
        warnings_->push_back(fmt::format("{}: the format \"{}\" is not known and has no effect", path,
                                         json().text(value).substr(0, 60)));
      return;
    }
    Expr format = atom(ExprKind::Format, path);
    format.text = json().text(value);
    e = exprs_.add(std::move(format));
    if (json().text(value) == "hostname") {
      Expr length = atom(ExprKind::Length, path);
      length.max = 253;
      e = exprs_.both(e, exprs_.add(std::move(length)));
    }
  } else {
    Expr length = atom(ExprKind::Length, path);
    (k == Keyword::MinLength ? length.min : length.max) = count_value(json(), value);
    if (length.min == kUnbounded)
      throw ConstraintError(path, "no string is as long as minLength asks", kUnbounded - 1, kUnbounded);
    e = exprs_.add(std::move(length));
  }
  v.string = exprs_.both(v.string, e);
}

const Values& SchemaCompiler::expand_reference(int value, bool dynamic) {
  const int target = document_.target(value);
  if (dynamic && document_.is_ambiguous(value)) {
    unsupported(value, "$dynamicRef to an anchor that several schemas of the document have");
  }
  return expand_schema(target);
}

void SchemaCompiler::apply_logic(Values& v, int schema, Keyword k, int value) {
  budget_.path = json().pointer(value);
  switch (k) {
    case Keyword::Ref:
    case Keyword::DynamicRef:
      return meet(v, expand_reference(value, k == Keyword::DynamicRef));
    case Keyword::AllOf:
      for (int i = 0; i < json().size(value); ++i) meet(v, expand_schema(json().child(value, i)));
      return;
    case Keyword::AnyOf:
      return meet(v, expand_any_of(value));
    case Keyword::OneOf:
      return meet(v, expand_one_of(value));
    case Keyword::Not:
      return meet(v, complement_of(expand_schema(value)));
    case Keyword::If:
      return meet(v, expand_if(schema, value));
    default:
      return;
  }
}

Values SchemaCompiler::expand_any_of(int list) {
  const int n = json().size(list);
  Values out = Values::none();
  std::vector<int> numbers, strings;
  for (int i = 0; i < n; ++i) {
    const Values& v = expand_schema(json().child(list, i));
    numbers.push_back(v.number);
    strings.push_back(v.string);
    Values rest = v;
    rest.number = rest.string = ExprPool::kBottom;
    unite(out, rest);
  }
  if (document_.has_unevaluated() && n > 1) {  // a value that several branches take was looked at by all of them
    if (n > 6) unsupported(list, "anyOf with more than 6 branches in a schema with unevaluatedProperties or -Items");
    for (int subset = 1; subset < 1 << n; ++subset) {
      if ((subset & (subset - 1)) == 0) continue;
      Values all;
      for (int i = 0; i < n; ++i)
        if (subset >> i & 1) meet(all, expand_schema(json().child(list, i)));
      out.arrays.insert(out.arrays.end(), all.arrays.begin(), all.arrays.end());
      out.objects.insert(out.objects.end(), all.objects.begin(), all.objects.end());
    }
  }
  out.number = exprs_.either(numbers);
  out.string = exprs_.either(strings);
  return out;
}

// Strings or numbers that exactly one of the branches has. Branches that only list values are counted, not compared.
int SchemaCompiler::exactly_one_of(const std::vector<int>& branches) {
  std::map<std::string, int> words;
  std::map<Decimal, int> numbers;
  std::vector<int> lists, others;
  for (int e : branches) {
    const Expr& x = exprs_[e];
    if (x.kind == ExprKind::Bottom) continue;
    const bool listed = x.kind == ExprKind::Words || x.kind == ExprKind::Numbers;
    (listed ? lists : others).push_back(e);
    for (const std::string& w : x.words) ++words[w];
    for (const Decimal& d : x.numbers) ++numbers[d];
    budget_.spend(x.words.size() + x.numbers.size() + 1);
  }
  Expr word_list = atom(ExprKind::Words, ""), number_list = atom(ExprKind::Numbers, "");
  for (const auto& [w, n] : words)
    if (n == 1) word_list.words.push_back(w);
  for (const auto& [d, n] : numbers)
    if (n == 1) number_list.numbers.push_back(d);
  int once = exprs_.either({exprs_.add(std::move(word_list)), exprs_.add(std::move(number_list))});
  const int in_no_list = exprs_.negate(exprs_.either(lists));
  std::vector<int> parts;
  for (size_t i = 0; i < others.size(); ++i) {
    once = exprs_.both(once, exprs_.negate(others[i]));
    int e = exprs_.both(others[i], in_no_list);
    for (size_t j = 0; j < others.size() && e != ExprPool::kBottom; ++j) {
      budget_.spend(20);
      if (j != i) e = exprs_.both(e, exprs_.negate(others[j]));
    }
    parts.push_back(e);
  }
  parts.push_back(once);
  return exprs_.either(parts);
}

Values SchemaCompiler::expand_one_of(int list) {
  const int n = json().size(list);
  std::vector<const Values*> branches;
  std::vector<int> numbers, strings;
  for (int i = 0; i < n; ++i) {
    branches.push_back(&expand_schema(json().child(list, i)));
    numbers.push_back(branches.back()->number);
    strings.push_back(branches.back()->string);
  }
  Values out = Values::none();
  auto exactly_one = [&](auto get) { return std::count_if(branches.begin(), branches.end(), get) == 1; };
  out.null = exactly_one([](const Values* v) { return v->null; });
  out.yes = exactly_one([](const Values* v) { return v->yes; });
  out.no = exactly_one([](const Values* v) { return v->no; });
  out.number = exactly_one_of(numbers);
  out.string = exactly_one_of(strings);
  auto one_shape = [&](auto get, auto& result) {
    for (int i = 0; i < n; ++i) {
      auto mine = get(*branches[i]);
      for (int j = 0; j < n && !mine.empty(); ++j) {
        const auto& other = get(*branches[j]);
        if (j == i || other.empty()) continue;
        const bool apart = std::all_of(mine.begin(), mine.end(), [&](const auto& a) {
          return std::all_of(other.begin(), other.end(), [&](const auto& b) { return disjoint(a, b); });
        });
        if (apart) continue;
        meet_lists(mine, complement_of(other));
        mine.erase(std::remove_if(mine.begin(), mine.end(), [&](const auto& x) { return empty(x); }), mine.end());
      }
      result.insert(result.end(), mine.begin(), mine.end());
      check_count(result.size());
    }
  };
  one_shape([](const Values& v) -> const std::vector<ArrayShape>& { return v.arrays; }, out.arrays);
  one_shape([](const Values& v) -> const std::vector<ObjectShape>& { return v.objects; }, out.objects);
  return out;
}

Values SchemaCompiler::expand_if(int schema, int condition) {
  const int then = json().find(schema, "then"), other = json().find(schema, "else");
  if (then < 0 && other < 0 && !document_.has_unevaluated()) return {};
  auto quiet = [](Values v) {  // names in a condition do not close the object
    for (ObjectShape& o : v.objects) o.declares = false;
    for (ArrayShape& a : v.arrays) a.declares = false;
    return v;
  };
  Values yes = quiet(expand_schema(condition));
  Values no = complement_of(yes);
  if (then >= 0) meet(yes, quiet(expand_schema(then)));
  if (other >= 0) meet(no, quiet(expand_schema(other)));
  unite(yes, no);
  return yes;
}

}  // namespace tally::grammar
