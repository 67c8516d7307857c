#include <cstdlib>

#include "text/jinja_error.h"
#include "text/jinja_parser.h"

namespace tally::text::jinja {

Parser::Nested::Nested(Parser* p) : parser(p) {
  if (++p->nested_ > kNestingMax) {
    --p->nested_;
    raise(Err::Limit, p->current().line, fmt::format("more than {} levels of nesting", kNestingMax));
  }
}

ExprPtr Parser::finish(ExprPtr e) const {
  int deepest = 0;
  bool is_const = e->kind != ExprKind::Name && e->kind != ExprKind::NsRef && e->kind != ExprKind::Call;
  auto visit = [&](const ExprPtr& child) {
    if (!child) return;
    deepest = std::max(deepest, child->depth);
    is_const = is_const && child->is_const;
  };
  for (const auto& item : e->items) visit(item);
  if (e->args) {
    for (const auto& a : e->args->positional) visit(a);
    for (const auto& [key, a] : e->args->keywords) visit(a);
    visit(e->args->star);
    visit(e->args->star_star);
  }
  if (e->kind == ExprKind::Filter)  // these depend on the rendering
    for (auto name : {"map", "select", "reject", "selectattr", "rejectattr", "random"})
      is_const = is_const && e->name != name;
  e->depth = deepest + 1;
  e->is_const = is_const;
  if (e->depth > kTreeDepthMax)
    raise(Err::Limit, e->line, fmt::format("an expression is more than {} levels deep", kTreeDepthMax));
  return e;
}

ExprPtr Parser::constant(Value value, int line) const {
  auto e = node(ExprKind::Const, line);
  e->value = std::move(value);
  e->is_const = true;
  return e;
}

Value Parser::immortal(std::string text) {
  auto object = std::make_unique<StringObj>(std::move(text));
  object->immortal = true;
  object->length();
  Value v(object.get());
  program_->constants.push_back(std::move(object));
  return v;
}

ExprPtr Parser::text_constant(std::string text, int line) { return constant(immortal(std::move(text)), line); }

ExprPtr Parser::number() {
  const Token& token = next();
  if (token.type == Tok::Float) return constant(Value(std::strtod(token.text.c_str(), nullptr)), token.line);
  int base = 10;
  std::string_view digits = token.text;
  if (digits.size() > 2 && digits[0] == '0') {
    const char c = static_cast<char>(digits[1] | 32);
    base = c == 'x' ? 16 : c == 'o' ? 8 : c == 'b' ? 2 : 10;
    if (base != 10) digits.remove_prefix(2);
  }
  if (digits.size() > 4300) fail("Exceeds the limit (4300 digits) for integer string conversion", token.line);
  BigInt value = BigInt::parse(digits, base);
  if (value.fits_int64()) return constant(Value(value.to_int64()), token.line);
  if (value.too_large()) fail("an integer is too large", token.line);
  auto object = std::make_unique<BigIntObj>(std::move(value));
  object->immortal = true;
  Value v(object.get());
  program_->constants.push_back(std::move(object));
  return constant(v, token.line);
}

ExprPtr Parser::binary(ExprKind kind, Op op, ExprPtr left, ExprPtr right, int line) const {
  auto e = node(kind, line);
  e->op = op;
  e->items.push_back(std::move(left));
  e->items.push_back(std::move(right));
  return finish(std::move(e));
}

ExprPtr Parser::parse_expression(bool with_condition) { return with_condition ? parse_condition() : parse_or(); }

ExprPtr Parser::parse_condition() {
  Nested nested(this);
  int line = current().line;
  ExprPtr value = parse_or();
  while (skip_if_name("if")) {
    auto e = node(ExprKind::Cond, line);
    e->items.push_back(parse_or());
    e->items.push_back(std::move(value));
    e->items.push_back(skip_if_name("else") ? parse_condition() : nullptr);
    value = finish(std::move(e));
    line = current().line;
  }
  return value;
}

ExprPtr Parser::parse_or() {
  ExprPtr left = parse_and();
  while (is_name("or")) {
    const int line = next().line;
    left = binary(ExprKind::Or, Op::None, std::move(left), parse_and(), line);
  }
  return left;
}

ExprPtr Parser::parse_and() {
  ExprPtr left = parse_not();
  while (is_name("and")) {
    const int line = next().line;
    left = binary(ExprKind::And, Op::None, std::move(left), parse_not(), line);
  }
  return left;
}

ExprPtr Parser::parse_not() {
  if (!is_name("not")) return parse_compare();
  Nested nested(this);
  auto e = node(ExprKind::Not, next().line);
  e->items.push_back(parse_not());
  return finish(std::move(e));
}

ExprPtr Parser::parse_compare() {
  ExprPtr first = parse_sum();
  auto e = node(ExprKind::Compare, current().line);
  e->items.push_back(std::move(first));
  while (true) {
    Op op = Op::None;
    switch (current().type) {
      case Tok::Eq:
        op = Op::Eq;
        break;
      case Tok::Ne:
        op = Op::Ne;
        break;
      case Tok::Lt:
        op = Op::Lt;
        break;
      case Tok::Le:
        op = Op::Le;
        break;
      case Tok::Gt:
        op = Op::Gt;
        break;
      case Tok::Ge:
        op = Op::Ge;
        break;
      default:
        if (is_name("in")) op = Op::In;
        if (is_name("not") && look().type == Tok::Name && look().text == "in") {
          next();
          op = Op::NotIn;
        }
    }
    if (op == Op::None) break;
    next();
    e->ops.push_back(op);
    e->items.push_back(parse_sum());
  }
  if (e->ops.empty()) return std::move(e->items[0]);
  return finish(std::move(e));
}

ExprPtr Parser::parse_sum() {
  ExprPtr left = parse_concat();
  while (is(Tok::Add) || is(Tok::Sub)) {
    const Op op = is(Tok::Add) ? Op::Add : Op::Sub;
    const int line = next().line;
    left = binary(ExprKind::Binary, op, std::move(left), parse_concat(), line);
  }
  return left;
}

ExprPtr Parser::parse_concat() {
  ExprPtr first = parse_product();
  if (!is(Tok::Tilde)) return first;
  auto e = node(ExprKind::Concat, current().line);
  e->items.push_back(std::move(first));
  while (skip_if(Tok::Tilde)) e->items.push_back(parse_product());
  return finish(std::move(e));
}

ExprPtr Parser::parse_product() {
  ExprPtr left = parse_power();
  while (true) {
    Op op;
    switch (current().type) {
      case Tok::Mul:
        op = Op::Mul;
        break;
      case Tok::Div:
        op = Op::Div;
        break;
      case Tok::FloorDiv:
        op = Op::FloorDiv;
        break;
      case Tok::Mod:
        op = Op::Mod;
        break;
      default:
        return left;
    }
    const int line = next().line;
    left = binary(ExprKind::Binary, op, std::move(left), parse_power(), line);
  }
}

ExprPtr Parser::parse_power() {
  ExprPtr left = parse_unary();
  while (is(Tok::Pow)) {
    const int line = next().line;
    left = binary(ExprKind::Binary, Op::Pow, std::move(left), parse_unary(), line);
  }
  return left;
}

ExprPtr Parser::parse_unary(bool with_filter) {
  Nested nested(this);
  ExprPtr e;
  if (is(Tok::Sub) || is(Tok::Add)) {
    e = node(ExprKind::Unary, current().line);
    e->op = next().type == Tok::Sub ? Op::Neg : Op::Pos;
    e->items.push_back(parse_unary(false));
    e = finish(std::move(e));
  } else {
    e = parse_primary();
  }
  e = parse_postfix(std::move(e));
  return with_filter ? parse_filters(std::move(e)) : std::move(e);
}

ExprPtr Parser::parse_primary(bool with_namespace) {
  const Token& token = current();
  const int line = token.line;
  switch (token.type) {
    case Tok::Name: {
      next();
      const std::string& name = token.text;
      if (name == "true" || name == "True" || name == "false" || name == "False")
        return constant(Value(name == "true" || name == "True"), line);
      if (name == "none" || name == "None") return constant(Value::none(), line);
      auto e = node(with_namespace && is(Tok::Dot) ? ExprKind::NsRef : ExprKind::Name, line);
      e->name = name;
      if (e->kind == ExprKind::NsRef) {
        next();
        e->attribute = expect(Tok::Name).text;
      }
      e->value = immortal(e->kind == ExprKind::NsRef ? e->attribute : name);
      return finish(std::move(e));
    }
    case Tok::String: {
      std::string text;
      while (is(Tok::String)) text += next().text;
      return text_constant(std::move(text), line);
    }
    case Tok::Integer:
    case Tok::Float:
      return number();
    case Tok::LParen: {
      next();
      TupleMode mode;
      mode.parentheses = true;
      ExprPtr e = parse_tuple(mode);
      expect(Tok::RParen);
      return e;
    }
    case Tok::LBracket:
      return parse_list();
    case Tok::LBrace:
      return parse_dict();
    default:
      fail(fmt::format("unexpected '{}'", describe_current()));
  }
}

ExprPtr Parser::parse_tuple(const TupleMode& mode) {
  Nested nested(this);
  auto e = node(ExprKind::Tuple, current().line);
  bool is_tuple = false;
  while (true) {
    if (!e->items.empty()) expect(Tok::Comma);
    if (is(Tok::VariableEnd) || is(Tok::BlockEnd) || is(Tok::RParen)) break;
    e->items.push_back(mode.simplified ? parse_primary(mode.with_namespace) : parse_expression(mode.with_condition));
    if (!is(Tok::Comma)) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!e->items.empty()) return std::move(e->items[0]);
    // Without parentheses nothing at all is no empty tuple.
    if (!mode.parentheses) fail(fmt::format("Expected an expression, got '{}'", describe_current()));
  }
  return finish(std::move(e));
}

ExprPtr Parser::parse_list() {
  auto e = node(ExprKind::List, expect(Tok::LBracket).line);
  while (!is(Tok::RBracket)) {
    if (!e->items.empty()) expect(Tok::Comma);
    if (is(Tok::RBracket)) break;
    e->items.push_back(parse_expression());
  }
  expect(Tok::RBracket);
  return finish(std::move(e));
}

ExprPtr Parser::parse_dict() {
  auto e = node(ExprKind::Dict, expect(Tok::LBrace).line);
  while (!is(Tok::RBrace)) {
    if (!e->items.empty()) expect(Tok::Comma);
    if (is(Tok::RBrace)) break;
    e->items.push_back(parse_expression());
    expect(Tok::Colon);
    e->items.push_back(parse_expression());
  }
  expect(Tok::RBrace);
  return finish(std::move(e));
}

ExprPtr Parser::parse_postfix(ExprPtr e) {
  while (true) {
    if (is(Tok::Dot) || is(Tok::LBracket))
      e = parse_subscript(std::move(e));
    else if (is(Tok::LParen))
      e = parse_call(std::move(e));
    else
      return e;
  }
}

ExprPtr Parser::parse_filters(ExprPtr e) {
  while (true) {
    if (is(Tok::Pipe))
      e = parse_filter(std::move(e), false);
    else if (is_name("is"))
      e = parse_test(std::move(e));
    else if (is(Tok::LParen))
      e = parse_call(std::move(e));
    else
      return e;
  }
}

ExprPtr Parser::parse_subscript(ExprPtr owner) {
  const Token& token = next();
  if (token.type == Tok::Dot) {
    const Token& attribute = current();
    if (attribute.type == Tok::Integer)
      return binary(ExprKind::GetItem, Op::None, std::move(owner), number(), token.line);
    next();
    if (attribute.type != Tok::Name) fail("expected name or number", attribute.line);
    auto e = node(ExprKind::GetAttr, token.line);
    e->items.push_back(std::move(owner));
    e->value = immortal(attribute.text);
    return finish(std::move(e));
  }
  std::vector<ExprPtr> args;
  while (!is(Tok::RBracket)) {
    if (!args.empty()) expect(Tok::Comma);
    args.push_back(parse_subscribed());
  }
  expect(Tok::RBracket);
  ExprPtr arg;
  if (args.size() == 1) {
    arg = std::move(args[0]);
  } else {
    arg = node(ExprKind::Tuple, token.line);
    for (const auto& a : args)
      if (a->kind == ExprKind::Slice) fail("a slice cannot be one of several subscripts", token.line);
    arg->items = std::move(args);
    arg = finish(std::move(arg));
  }
  return binary(ExprKind::GetItem, Op::None, std::move(owner), std::move(arg), token.line);
}

ExprPtr Parser::parse_subscribed() {
  auto e = node(ExprKind::Slice, current().line);
  if (is(Tok::Colon)) {
    e->items.emplace_back();
  } else {
    ExprPtr first = parse_expression();
    if (!is(Tok::Colon)) return first;
    e->items.push_back(std::move(first));
  }
  next();
  const bool no_stop = is(Tok::Colon) || is(Tok::RBracket) || is(Tok::Comma);
  e->items.push_back(no_stop ? nullptr : parse_expression());
  const bool has_step = skip_if(Tok::Colon) && !is(Tok::RBracket) && !is(Tok::Comma);
  e->items.push_back(has_step ? parse_expression() : nullptr);
  return finish(std::move(e));
}

std::unique_ptr<CallArgs> Parser::parse_args() {
  auto args = std::make_unique<CallArgs>();
  const int line = expect(Tok::LParen).line;
  auto ensure = [&](bool ok) {
    if (!ok) fail("invalid syntax for function call expression", line);
  };
  for (bool first = true; !is(Tok::RParen); first = false) {
    if (!first) expect(Tok::Comma);
    if (is(Tok::RParen)) break;
    if (skip_if(Tok::Mul)) {
      ensure(!args->star && !args->star_star);
      args->star = parse_expression();
    } else if (skip_if(Tok::Pow)) {
      ensure(!args->star_star);
      args->star_star = parse_expression();
    } else if (is(Tok::Name) && look().type == Tok::Assign) {
      ensure(!args->star_star);
      std::string key = next().text;
      next();
      for (const auto& [other, value] : args->keywords)
        if (other == key) fail(fmt::format("keyword argument repeated: {}", key), line);
      args->keywords.emplace_back(std::move(key), parse_expression());
    } else {
      ensure(!args->star && !args->star_star && args->keywords.empty());
      args->positional.push_back(parse_expression());
    }
  }
  expect(Tok::RParen);
  return args;
}

ExprPtr Parser::parse_call(ExprPtr callee) {
  auto e = node(ExprKind::Call, current().line);
  e->items.push_back(std::move(callee));
  e->args = parse_args();
  return finish(std::move(e));
}

std::string Parser::parse_dotted_name() {
  std::string name = expect(Tok::Name).text;
  while (skip_if(Tok::Dot)) name += "." + expect(Tok::Name).text;
  return name;
}

ExprPtr Parser::parse_filter(ExprPtr input, bool start_inline) {
  while (is(Tok::Pipe) || start_inline) {
    if (!start_inline) next();
    start_inline = false;
    auto e = node(ExprKind::Filter, current().line);
    e->name = parse_dotted_name();
    e->items.push_back(std::move(input));
    e->args = is(Tok::LParen) ? parse_args() : std::make_unique<CallArgs>();
    input = finish(std::move(e));
  }
  return input;
}

ExprPtr Parser::parse_test(ExprPtr subject) {
  const int line = next().line;
  const bool negated = skip_if_name("not");
  auto e = node(ExprKind::Test, line);
  e->name = parse_dotted_name();
  e->items.push_back(std::move(subject));
  if (is(Tok::LParen)) {
    e->args = parse_args();
  } else {
    e->args = std::make_unique<CallArgs>();
    const bool starts_value =
        is(Tok::Name) || is(Tok::String) || is(Tok::Integer) || is(Tok::Float) || is(Tok::LBracket) || is(Tok::LBrace);
    if (starts_value && !is_name("else") && !is_name("or") && !is_name("and")) {
      if (is_name("is")) fail("You cannot chain multiple tests with is");
      Nested nested(this);
      e->args->positional.push_back(parse_postfix(parse_primary()));
    }
  }
  e = finish(std::move(e));
  if (!negated) return e;
  auto inverse = node(ExprKind::Not, line);
  inverse->items.push_back(std::move(e));
  return finish(std::move(inverse));
}

}  // namespace tally::text::jinja
