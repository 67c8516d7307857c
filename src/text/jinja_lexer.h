// Splits a template into tokens, with the whitespace rules of trim_blocks and lstrip_blocks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tally::text::jinja {

enum class Tok : uint8_t {
  Data,
  VariableBegin,
  VariableEnd,
  BlockBegin,
  BlockEnd,
  Name,
  String,
  Integer,
  Float,
  Add,
  Sub,
  Div,
  FloorDiv,
  Mul,
  Mod,
  Pow,
  Tilde,
  LBracket,
  RBracket,
  LParen,
  RParen,
  LBrace,
  RBrace,
  Eq,
  Ne,
  Gt,
  Ge,
  Lt,
  Le,
  Assign,
  Dot,
  Colon,
  Pipe,
  Comma,
  Semicolon,
  Eof
};

struct Token {
  Tok type;
  int line;
  std::string text;  // data, name, unescaped string, digits without underscores (with 0x, 0o, 0b), operator
};

// Throws TemplateError (TemplateSyntaxError). Ends with an Eof token.
std::vector<Token> tokenize(std::string_view source);

// How messages name a kind of token ("end of print statement", ":").
const char* describe(Tok type);

}  // namespace tally::text::jinja
