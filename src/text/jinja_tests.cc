// Tests: `x is name(args)`.
#include "text/jinja_builtins.h"
#include "text/jinja_iter.h"
#include "text/jinja_ops.h"
#include "text/jinja_text.h"
#include "text/jinja_unicode.h"

namespace tally::text::jinja {

namespace {

// Most tests have no argument beside the value.
const Value& only(Interp& in, const char* name, Args& args) {
  if (args.pos.size() != 1 || !args.kw.empty())
    in.fail(Err::Type, "test '{}' takes 1 argument but {} were given", name, args.pos.size() + args.kw.size());
  return args.pos[0];
}

template <Op op>
Value comparing(Interp& in, Args& args) {
  if (args.pos.size() != 2 || !args.kw.empty())
    in.fail(Err::Type, "a comparing test expected 2 arguments, got {}", args.pos.size() + args.kw.size());
  return Value(compare(in, op, args.pos[0], args.pos[1]));
}

Value remainder_is(Interp& in, const Value& v, const Value& divisor, int64_t wanted) {
  return Value(equal(in, binary(in, Op::Mod, v, divisor), Value(wanted)));
}

Value odd(Interp& in, Args& args) { return remainder_is(in, only(in, "odd", args), Value(2), 1); }
Value even(Interp& in, Args& args) { return remainder_is(in, only(in, "even", args), Value(2), 0); }
Value divisibleby(Interp& in, Args& args) {
  const auto a = bind(in, "divisibleby", args, {"value", "num"}, 2);
  return remainder_is(in, a[0], a[1], 0);
}
Value defined(Interp& in, Args& args) { return Value(!only(in, "defined", args).undefined()); }
Value undefined(Interp& in, Args& args) { return Value(only(in, "undefined", args).undefined()); }
Value is_none(Interp& in, Args& args) { return Value(only(in, "none", args).is_none()); }
Value boolean(Interp& in, Args& args) { return Value(only(in, "boolean", args).is(Kind::Bool)); }
Value is_true(Interp& in, Args& args) {
  const Value& v = only(in, "true", args);
  return Value(v.is(Kind::Bool) && v.boolean());
}
Value is_false(Interp& in, Args& args) {
  const Value& v = only(in, "false", args);
  return Value(v.is(Kind::Bool) && !v.boolean());
}
Value integer(Interp& in, Args& args) {
  const Value& v = only(in, "integer", args);
  return Value(v.is(Kind::Int) || v.is(Kind::BigInt));
}
Value real(Interp& in, Args& args) { return Value(only(in, "float", args).is(Kind::Float)); }
Value number(Interp& in, Args& args) { return Value(only(in, "number", args).is_number()); }
Value string(Interp& in, Args& args) { return Value(only(in, "string", args).is_string()); }
Value mapping(Interp& in, Args& args) { return Value(only(in, "mapping", args).is(Kind::Dict)); }
Value iterable(Interp& in, Args& args) { return Value(is_iterable(only(in, "iterable", args))); }
Value sequence(Interp& in, Args& args) {
  switch (only(in, "sequence", args).kind()) {
    case Kind::String:
    case Kind::List:
    case Kind::Tuple:
    case Kind::Dict:
    case Kind::Range:
    case Kind::Undefined:
      return Value(true);
    default:
      return Value(false);
  }
}
Value callable(Interp& in, Args& args) {
  switch (only(in, "callable", args).kind()) {
    case Kind::Function:
    case Kind::Method:
    case Kind::Macro:
    case Kind::Joiner:
    case Kind::Loop:
    case Kind::Undefined:
      return Value(true);
    default:
      return Value(false);
  }
}
// Identity; equal numbers and texts count as the same object, as constants do in Python.
Value sameas(Interp& in, Args& args) {
  const auto a = bind(in, "sameas", args, {"value", "other"}, 2);
  const bool constant = a[0].kind() == a[1].kind() && (a[0].is_number() || a[0].is_string() || a[0].is_none());
  return Value(a[0].same(a[1]) || (constant && equal(in, a[0], a[1])));
}
Value escaped_test(Interp& in, Args& args) {
  const Value& v = only(in, "escaped", args);
  return Value(v.is_string() && v.as<StringObj>()->markup);
}
Value lower(Interp& in, Args& args) { return Value(all_cased(to_str(in, only(in, "lower", args)), false)); }
Value upper(Interp& in, Args& args) { return Value(all_cased(to_str(in, only(in, "upper", args)), true)); }
Value is_filter(Interp& in, Args& args) {
  const Value& v = only(in, "filter", args);
  hash_value(in, v);
  return Value(v.is_string() && find_filter(v.as<StringObj>()->text));
}
Value is_test(Interp& in, Args& args) {
  const Value& v = only(in, "test", args);
  hash_value(in, v);
  return Value(v.is_string() && find_test(v.as<StringObj>()->text));
}
Value in_test(Interp& in, Args& args) {
  const auto a = bind(in, "in", args, {"value", "seq"}, 2);
  return Value(contains(in, a[1], a[0]));
}

constexpr Builtin kTests[] = {{"odd", odd},
                              {"even", even},
                              {"divisibleby", divisibleby},
                              {"defined", defined},
                              {"undefined", undefined},
                              {"filter", is_filter},
                              {"test", is_test},
                              {"none", is_none},
                              {"boolean", boolean},
                              {"false", is_false},
                              {"true", is_true},
                              {"integer", integer},
                              {"float", real},
                              {"lower", lower},
                              {"upper", upper},
                              {"string", string},
                              {"mapping", mapping},
                              {"number", number},
                              {"sequence", sequence},
                              {"iterable", iterable},
                              {"callable", callable},
                              {"sameas", sameas},
                              {"escaped", escaped_test},
                              {"in", in_test},
                              {"==", comparing<Op::Eq>},
                              {"eq", comparing<Op::Eq>},
                              {"equalto", comparing<Op::Eq>},
                              {"!=", comparing<Op::Ne>},
                              {"ne", comparing<Op::Ne>},
                              {">", comparing<Op::Gt>},
                              {"gt", comparing<Op::Gt>},
                              {"greaterthan", comparing<Op::Gt>},
                              {"ge", comparing<Op::Ge>},
                              {">=", comparing<Op::Ge>},
                              {"<", comparing<Op::Lt>},
                              {"lt", comparing<Op::Lt>},
                              {"lessthan", comparing<Op::Lt>},
                              {"<=", comparing<Op::Le>},
                              {"le", comparing<Op::Le>}};

}  // namespace

std::span<const Builtin> tests() { return kTests; }

}  // namespace tally::text::jinja
