// The parsed template. Expressions and statements are plain nodes with a kind; resolving (jinja_resolve.h) adds to each
// name the place of its variable and to each block what its variables start with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/jinja_value.h"

namespace tally::text::jinja {

enum class Op : uint8_t { None, Add, Sub, Mul, Div, FloorDiv, Mod, Pow, Neg, Pos, Eq, Ne, Lt, Le, Gt, Ge, In, NotIn };

enum class ExprKind : uint8_t {
  Const,  // value
  Name,   // name; place
  NsRef,  // name.attribute as a target of set: name, attribute, place
  Tuple,
  List,
  Dict,     // items: key, value, key, value, …
  Unary,    // op; items[0]
  Binary,   // op; items[0], items[1]
  Compare,  // items[0] ops[0] items[1] ops[1] items[2] …
  Not,
  And,
  Or,
  Concat,   // items joined by ~
  Cond,     // items: test, then, else (else may be missing)
  GetAttr,  // items[0], value = attribute name
  GetItem,  // items[0], items[1]
  Slice,    // items: start, stop, step; each may be null
  Call,     // items[0] called with args
  Filter,   // items[0] (null inside a filter block) | name(args)
  Test      // items[0] is name(args)
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct CallArgs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> keywords;
  ExprPtr star, star_star;  // *args, **kwargs
};

// Where a variable lives: `hops` functions outwards, slot in that function's Env.
struct Place {
  int hops = 0, slot = -1;
};

struct Builtin;  // a filter or test (jinja_builtins.h)

struct Expr {
  Expr(ExprKind k, int l) : kind(k), line(l) {}
  ExprKind kind;
  Op op = Op::None;
  bool store = false;     // a target of an assignment
  bool is_const = false;  // nothing but constants below
  int line;
  int depth = 1;  // of the tree below
  Place place;
  std::string name, attribute;
  Value value;
  std::vector<ExprPtr> items;
  std::vector<Op> ops;
  std::unique_ptr<CallArgs> args;
  const Builtin* builtin = nullptr;  // null: unknown name, an error when reached
};

enum class StmtKind : uint8_t {
  Output,
  For,
  If,
  Macro,
  CallBlock,
  Set,
  SetBlock,
  FilterBlock,
  With,
  Block,
  Include,
  Break,
  Continue,
  Scope
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

// What a variable of a frame holds when the frame is entered.
struct Load {
  enum class Kind : uint8_t { Parameter, Resolve, Alias, Undefined };
  Kind kind;
  int slot;
  Place from;        // Alias
  std::string name;  // Resolve: looked up in the variables of the template
};

struct FrameInfo {
  std::vector<Load> loads;
};

// A macro's or caller's signature and its own variables.
struct FunctionInfo {
  std::string name;
  std::vector<ExprPtr> parameters;                            // names
  std::vector<ExprPtr> defaults;                              // of the last parameters
  std::vector<int> slots;                                     // of the parameters
  int slot_caller = -1, slot_kwargs = -1, slot_varargs = -1;  // -1: not used in the body
  bool explicit_caller = false;
  int n_slots = 0;
};

struct Stmt {
  Stmt(StmtKind k, int l) : kind(k), line(l) {}
  StmtKind kind;
  int line;
  std::vector<ExprPtr> exprs;  // Output: pieces (Const = text); With: values
  ExprPtr target, expr, test;  // Set, For (expr = iterable), If (test), CallBlock (expr = call; null: printed as it is)
  ExprPtr test_target;         // For with a test: the target once more, with the places of the test's function
  std::vector<ExprPtr> targets;  // With
  Body body, else_body;
  std::vector<StmtPtr> elifs;                // each an If
  bool recursive = false, extended = false;  // For; extended: the body uses `loop`
  bool scoped = false;                       // Block
  std::string name;                          // Block, Include
  FrameInfo frame, else_frame, test_frame;
  int slot_loop = -1;                      // For: where `loop` lives
  int n_slots = 0, n_test_slots = 0;       // For, when body or test is a function of its own; Block
  Place place;                             // Macro: where it is stored
  std::unique_ptr<FunctionInfo> function;  // Macro, CallBlock
  // Set and Macro at top level: names that blocks see from here on; scoped Block: the names around it.
  std::vector<std::pair<std::string, Place>> exports;
};

struct Program {
  ~Program();
  std::vector<std::unique_ptr<Object>> constants;  // immortal texts and integers; the tree below refers to them
  Body body;
  FrameInfo frame;
  int n_slots = 0;
  std::vector<std::pair<std::string, const Stmt*>> blocks;
};

}  // namespace tally::text::jinja
