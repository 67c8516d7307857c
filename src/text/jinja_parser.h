// Tokens to syntax tree: recursive descent with Jinja's grammar and precedence.
#pragma once

#include <string_view>

#include "text/jinja_ast.h"
#include "text/jinja_lexer.h"

namespace tally::text::jinja {

// Throws TemplateError. The program is not resolved yet.
std::unique_ptr<Program> parse_template(std::string_view source);

class Parser {
 public:
  Parser(std::vector<Token> tokens, Program* program) : tokens_(std::move(tokens)), program_(program) {}
  Body parse();

 private:
  using EndTags = std::vector<std::string_view>;
  struct Nested;  // counts nesting

  // Tokens.
  const Token& current() const { return tokens_[at_]; }
  const Token& look() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  const Token& next() { return at_ + 1 < tokens_.size() ? tokens_[at_++] : tokens_[at_]; }
  bool is(Tok type) const { return current().type == type; }
  bool is_name(std::string_view name) const { return current().type == Tok::Name && current().text == name; }
  bool skip_if(Tok type);
  bool skip_if_name(std::string_view name);
  const Token& expect(Tok type);
  void expect_name(std::string_view name);
  [[noreturn]] void fail(const std::string& message, int line = 0) const;
  [[noreturn]] void fail_tag(const std::string* name, int line) const;
  std::string describe_current() const { return is(Tok::Name) ? current().text : describe(current().type); }

  // Nodes.
  ExprPtr node(ExprKind kind, int line) const { return std::make_unique<Expr>(kind, line); }
  ExprPtr finish(ExprPtr e) const;  // sets depth; LimitError above the limit
  ExprPtr constant(Value value, int line) const;
  ExprPtr text_constant(std::string text, int line);
  Value immortal(std::string text);
  ExprPtr number();
  ExprPtr binary(ExprKind kind, Op op, ExprPtr left, ExprPtr right, int line) const;

  // Statements (jinja_parse_stmt.cc).
  Body subparse(const EndTags* end);
  Body parse_statements(const EndTags& end, bool drop_end);
  StmtPtr parse_statement();
  StmtPtr dispatch_statement(const std::string& tag);
  StmtPtr parse_for();
  StmtPtr parse_if();
  StmtPtr parse_set();
  StmtPtr parse_with();
  StmtPtr parse_block();
  StmtPtr parse_macro();
  StmtPtr parse_call_block();
  StmtPtr parse_generation();
  StmtPtr parse_filter_block();
  StmtPtr parse_autoescape();
  StmtPtr parse_print();
  StmtPtr parse_include(const std::string& tag);
  void parse_signature(FunctionInfo* function);
  ExprPtr parse_target(bool name_only, bool with_namespace);
  void make_target(Expr* target) const;

  // Expressions (jinja_parse_expr.cc).
  ExprPtr parse_expression(bool with_condition = true);
  ExprPtr parse_condition();
  ExprPtr parse_or();
  ExprPtr parse_and();
  ExprPtr parse_not();
  ExprPtr parse_compare();
  ExprPtr parse_sum();
  ExprPtr parse_concat();
  ExprPtr parse_product();
  ExprPtr parse_power();
  ExprPtr parse_unary(bool with_filter = true);
  ExprPtr parse_primary(bool with_namespace = false);
  struct TupleMode {
    bool simplified = false, with_condition = true, parentheses = false, with_namespace = false;
  };
  ExprPtr parse_tuple(const TupleMode& mode);
  ExprPtr parse_list();
  ExprPtr parse_dict();
  ExprPtr parse_postfix(ExprPtr e);
  ExprPtr parse_filters(ExprPtr e);
  ExprPtr parse_subscript(ExprPtr e);
  ExprPtr parse_subscribed();
  ExprPtr parse_call(ExprPtr e);
  ExprPtr parse_filter(ExprPtr e, bool start_inline);
  ExprPtr parse_test(ExprPtr e);
  std::unique_ptr<CallArgs> parse_args();
  std::string parse_dotted_name();

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nested_ = 0;
  Program* program_;
  std::vector<EndTags> end_tags_;
  std::vector<std::string> tag_stack_;

  static constexpr int kNestingMax = 150, kTreeDepthMax = 500;
  friend struct Nested;
};

struct Parser::Nested {
  explicit Nested(Parser* p);
  ~Nested() { --parser->nested_; }
  Parser* parser;
};

}  // namespace tally::text::jinja
