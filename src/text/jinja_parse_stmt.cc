#include <algorithm>

#include "text/jinja_error.h"
#include "text/jinja_parser.h"

namespace tally::text::jinja {

Program::~Program() = default;

std::unique_ptr<Program> parse_template(std::string_view source) {
  auto program = std::make_unique<Program>();
  program->body = Parser(tokenize(source), program.get()).parse();
  return program;
}

bool Parser::skip_if(Tok type) {
  if (!is(type)) return false;
  next();
  return true;
}

bool Parser::skip_if_name(std::string_view name) {
  if (!is_name(name)) return false;
  next();
  return true;
}

const Token& Parser::expect(Tok type) {
  if (is(type)) return next();
  if (is(Tok::Eof)) fail(fmt::format("unexpected end of template, expected '{}'.", describe(type)));
  fail(fmt::format("expected token '{}', got '{}'", describe(type), describe_current()));
}

void Parser::expect_name(std::string_view name) {
  if (!is_name(name)) fail(fmt::format("expected token '{}', got '{}'", name, describe_current()));
  next();
}

void Parser::fail(const std::string& message, int line) const {
  raise(Err::Syntax, line > 0 ? line : current().line, message);
}

void Parser::fail_tag(const std::string* name, int line) const {
  std::string message = name ? fmt::format("Encountered unknown tag '{}'.", *name) : "Unexpected end of template.";
  if (!end_tags_.empty()) {
    std::string looking;
    for (auto tag : end_tags_.back()) looking += fmt::format("{}'{}'", looking.empty() ? "" : " or ", tag);
    bool expected = false;
    for (const auto& tags : end_tags_)
      expected = expected || (name && std::find(tags.begin(), tags.end(), *name) != tags.end());
    message +=
        expected
            ? fmt::format(
                  " You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for {}.",
                  looking)
            : fmt::format(" Jinja was looking for the following tags: {}.", looking);
  }
  if (!tag_stack_.empty())
    message += fmt::format(" The innermost block that needs to be closed is '{}'.", tag_stack_.back());
  fail(message, line);
}

Body Parser::parse() { return subparse(nullptr); }

Body Parser::subparse(const EndTags* end) {
  Nested nested(this);
  Body body;
  StmtPtr output;
  auto flush = [&] {
    if (output) body.push_back(std::move(output));
    output = nullptr;
  };
  auto add = [&](ExprPtr e) {
    if (!output) output = std::make_unique<Stmt>(StmtKind::Output, e->line);
    output->exprs.push_back(std::move(e));
  };
  if (end) end_tags_.push_back(*end);
  while (!is(Tok::Eof)) {
    if (is(Tok::Data)) {
      const Token& token = next();
      add(text_constant(token.text, token.line));
    } else if (skip_if(Tok::VariableBegin)) {
      add(parse_tuple({}));
      expect(Tok::VariableEnd);
    } else {
      flush();
      expect(Tok::BlockBegin);
      if (end && is(Tok::Name) && std::find(end->begin(), end->end(), current().text) != end->end()) break;
      body.push_back(parse_statement());
      expect(Tok::BlockEnd);
    }
  }
  flush();
  if (end) end_tags_.pop_back();
  return body;
}

Body Parser::parse_statements(const EndTags& end, bool drop_end) {
  skip_if(Tok::Colon);
  expect(Tok::BlockEnd);
  Body body = subparse(&end);
  if (is(Tok::Eof)) {
    end_tags_.push_back(end);
    fail_tag(nullptr, 0);
  }
  if (drop_end) next();
  return body;
}

StmtPtr Parser::parse_statement() {
  if (!is(Tok::Name)) fail("tag name expected");
  const std::string tag = current().text;
  tag_stack_.push_back(tag);
  StmtPtr statement = dispatch_statement(tag);
  tag_stack_.pop_back();
  return statement;
}

StmtPtr Parser::dispatch_statement(const std::string& tag) {
  if (tag == "for") return parse_for();
  if (tag == "if") return parse_if();
  if (tag == "set") return parse_set();
  if (tag == "with") return parse_with();
  if (tag == "block") return parse_block();
  if (tag == "macro") return parse_macro();
  if (tag == "call") return parse_call_block();
  if (tag == "filter") return parse_filter_block();
  if (tag == "print") return parse_print();
  if (tag == "generation") return parse_generation();
  if (tag == "autoescape") return parse_autoescape();
  if (tag == "include" || tag == "import" || tag == "from" || tag == "extends") return parse_include(tag);
  if (tag == "break" || tag == "continue")
    return std::make_unique<Stmt>(tag == "break" ? StmtKind::Break : StmtKind::Continue, next().line);
  tag_stack_.pop_back();
  fail_tag(&tag, current().line);
}

StmtPtr Parser::parse_for() {
  auto s = std::make_unique<Stmt>(StmtKind::For, next().line);
  s->target = parse_target(false, false);
  expect_name("in");
  TupleMode mode;
  mode.with_condition = false;
  s->expr = parse_tuple(mode);
  if (skip_if_name("if")) s->test = parse_expression();
  s->recursive = skip_if_name("recursive");
  s->body = parse_statements({"endfor", "else"}, false);
  if (next().text != "endfor") s->else_body = parse_statements({"endfor"}, true);
  return s;
}

StmtPtr Parser::parse_if() {
  auto result = std::make_unique<Stmt>(StmtKind::If, next().line);
  Stmt* branch = result.get();
  while (true) {
    TupleMode mode;
    mode.with_condition = false;
    branch->test = parse_tuple(mode);
    branch->body = parse_statements({"elif", "else", "endif"}, false);
    const Token& token = next();
    if (token.text == "elif") {
      result->elifs.push_back(std::make_unique<Stmt>(StmtKind::If, token.line));
      branch = result->elifs.back().get();
      continue;
    }
    if (token.text == "else") result->else_body = parse_statements({"endif"}, true);
    return result;
  }
}

StmtPtr Parser::parse_set() {
  auto s = std::make_unique<Stmt>(StmtKind::Set, next().line);
  s->target = parse_target(false, true);
  if (skip_if(Tok::Assign)) {
    s->expr = parse_tuple({});
    return s;
  }
  s->kind = StmtKind::SetBlock;
  s->expr = parse_filter(nullptr, false);
  s->body = parse_statements({"endset"}, true);
  return s;
}

StmtPtr Parser::parse_with() {
  auto s = std::make_unique<Stmt>(StmtKind::With, next().line);
  while (!is(Tok::BlockEnd)) {
    if (!s->targets.empty()) expect(Tok::Comma);
    s->targets.push_back(parse_target(false, false));
    expect(Tok::Assign);
    s->exprs.push_back(parse_expression());
  }
  s->body = parse_statements({"endwith"}, true);
  return s;
}

StmtPtr Parser::parse_block() {
  auto s = std::make_unique<Stmt>(StmtKind::Block, next().line);
  s->name = expect(Tok::Name).text;
  s->scoped = skip_if_name("scoped");
  if (is_name("required")) fail("blocks marked `required` need template inheritance, which chat templates do not have");
  if (is(Tok::Sub))
    fail(
        "Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an underscore "
        "instead.");
  s->body = parse_statements({"endblock"}, true);
  skip_if_name(s->name);
  for (const auto& [name, other] : program_->blocks)
    if (name == s->name) raise(Err::Assertion, s->line, fmt::format("block '{}' defined twice", name));
  program_->blocks.emplace_back(s->name, s.get());
  return s;
}

void Parser::parse_signature(FunctionInfo* function) {
  expect(Tok::LParen);
  while (!is(Tok::RParen)) {
    if (!function->parameters.empty()) expect(Tok::Comma);
    ExprPtr parameter = parse_target(true, false);
    for (const auto& other : function->parameters)
      if (other->name == parameter->name)
        fail(fmt::format("duplicate argument '{}' in function definition", other->name));
    if (skip_if(Tok::Assign))
      function->defaults.push_back(parse_expression());
    else if (!function->defaults.empty())
      fail("non-default argument follows default argument");
    function->parameters.push_back(std::move(parameter));
  }
  expect(Tok::RParen);
}

StmtPtr Parser::parse_macro() {
  auto s = std::make_unique<Stmt>(StmtKind::Macro, next().line);
  s->function = std::make_unique<FunctionInfo>();
  s->target = parse_target(true, false);
  s->function->name = s->target->name;
  parse_signature(s->function.get());
  s->body = parse_statements({"endmacro"}, true);
  return s;
}

StmtPtr Parser::parse_call_block() {
  auto s = std::make_unique<Stmt>(StmtKind::CallBlock, next().line);
  s->function = std::make_unique<FunctionInfo>();
  if (is(Tok::LParen)) parse_signature(s->function.get());
  s->expr = parse_expression();
  if (s->expr->kind != ExprKind::Call) fail("expected call", s->line);
  s->body = parse_statements({"endcall"}, true);
  return s;
}

// {% generation %} marks what the model wrote, for training; rendered as it is, in a scope like a caller's.
StmtPtr Parser::parse_generation() {
  auto s = std::make_unique<Stmt>(StmtKind::CallBlock, next().line);
  s->function = std::make_unique<FunctionInfo>();
  s->body = parse_statements({"endgeneration"}, true);
  return s;
}

StmtPtr Parser::parse_filter_block() {
  auto s = std::make_unique<Stmt>(StmtKind::FilterBlock, next().line);
  s->expr = parse_filter(nullptr, true);
  s->body = parse_statements({"endfilter"}, true);
  return s;
}

StmtPtr Parser::parse_autoescape() {
  auto s = std::make_unique<Stmt>(StmtKind::Scope, next().line);
  s->expr = parse_expression();
  s->body = parse_statements({"endautoescape"}, true);
  if (s->expr->kind != ExprKind::Const || !s->expr->value.is(Kind::Bool) || s->expr->value.boolean())
    fail("HTML escaping of a whole block (autoescape) is not supported in chat templates; use the filter `escape`",
         s->line);
  return s;
}

StmtPtr Parser::parse_print() {
  auto s = std::make_unique<Stmt>(StmtKind::Output, next().line);
  while (!is(Tok::BlockEnd)) {
    if (!s->exprs.empty()) expect(Tok::Comma);
    s->exprs.push_back(parse_expression());
  }
  return s;
}

// There is nothing to load from: parsed, so that a branch never taken does no harm, and an error when reached.
StmtPtr Parser::parse_include(const std::string& tag) {
  auto s = std::make_unique<Stmt>(StmtKind::Include, next().line);
  s->name = tag;
  s->expr = parse_expression();
  if (tag == "import") {
    expect_name("as");
    s->target = parse_target(true, false);
  }
  while (!is(Tok::BlockEnd) && !is(Tok::Eof)) next();
  return s;
}

void Parser::make_target(Expr* target) const {
  static const char* const kNames[] = {"const",   "name",    "nsref", "tuple", "list",   "dict",   "unary",
                                       "binexpr", "compare", "not",   "and",   "or",     "concat", "condexpr",
                                       "getattr", "getitem", "slice", "call",  "filter", "test"};
  switch (target->kind) {
    case ExprKind::Name:
    case ExprKind::NsRef:
      break;
    case ExprKind::Tuple:
      for (auto& item : target->items) make_target(item.get());
      break;
    default:
      fail(fmt::format("can't assign to '{}'", kNames[static_cast<int>(target->kind)]), target->line);
  }
  target->store = true;
}

ExprPtr Parser::parse_target(bool name_only, bool with_namespace) {
  ExprPtr target;
  if (name_only) {
    const Token& token = expect(Tok::Name);
    target = node(ExprKind::Name, token.line);
    target->name = token.text;
    target->value = immortal(token.text);
    for (auto word : {"true", "false", "none", "True", "False", "None"})
      if (target->name == word) fail("can't assign to 'name'", token.line);
  } else {
    TupleMode mode;
    mode.simplified = true;
    mode.with_namespace = with_namespace;
    target = parse_tuple(mode);
  }
  make_target(target.get());
  return target;
}

}  // namespace tally::text::jinja
