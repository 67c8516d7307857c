#include "tidy/functions.h"

#include <gtest/gtest.h>

#include <string>

namespace tally::tidy {
namespace {

std::string found(const std::string& text) {
  std::string all;
  for (const Function& f : find_functions(text)) {
    all += f.name + "@" + std::to_string(f.line) + "+" + std::to_string(f.n_lines) + " ";
  }
  return all;
}

TEST(TidyFunctions, ordinary) {
  EXPECT_EQ(found("int a() { return 1; }\n\nvoid b(int x,\n       int y) {\n  if (x) { y(); }\n}\n"), "a@1+1 b@3+4 ");
  EXPECT_EQ(found("namespace n {\nnamespace {\nint a() {\n}\n}\n}\nint b() {}\n"), "a@3+2 b@7+1 ");
  EXPECT_EQ(found("int a();\nint x{3};\nint y = f(3);\nint v[] = {1, 2};\nint b() {}\n"), "b@5+1 ");
  EXPECT_EQ(found("template <typename T, int n = (3)>\nint a(T t) {\n}\n"), "a@2+2 ");
}

TEST(TidyFunctions, classes) {
  EXPECT_EQ(found("class C {\n public:\n  C() : a_(1), b_{2}, c_{} {\n    x();\n  }\n  int g() const { return 1; }\n "
                  "private:\n  int b_{3};\n};\n"
                  "C::~C() {\n}\n"),
            "C@3+3 g@6+1 C::~C@10+2 ");
  EXPECT_EQ(found("struct alignas(64) S {\n  int a() { return 1; }\n};\nstruct S make() { return {}; }\n"),
            "a@2+1 make@4+1 ");
  EXPECT_EQ(found("enum class E : int { A, B };\nint a(int x = {}) {\n}\n"), "a@2+2 ");
  EXPECT_EQ(found("bool operator==(const A& a, const A& b) {\n}\n"), "operator@1+2 ");
}

TEST(TidyFunctions, literals_and_comments) {
  EXPECT_EQ(found("int a() {  // }\n  f(\"}\\\"}\");\n  /* } */ g('}', '\\'');\n  n = 1'000;\n}\n"), "a@1+5 ");
  EXPECT_EQ(found("#define M(x) do { \\\n  x; \\\n} while (0)\nint a() {\n  s = R\"x(}\")}\n)x\";\n}\n"), "a@4+4 ");
  EXPECT_EQ(found("extern \"C\" int a(int x) {\n}\n"), "a@1+2 ");
  EXPECT_EQ(found("extern \"C\" {\nint a(int x) {\n}\n}\n"), "a@2+2 ");
}

TEST(TidyFunctions, lambdas_belong_to_what_holds_them) {
  EXPECT_EQ(found("int a() {\n  auto f = [](int x) {\n  };\n}\n"), "a@1+4 ");
  EXPECT_EQ(found("const int x = [] {\n  return 1;\n}();\nint a() {\n}\n"), "a@4+2 ");
}

}  // namespace
}  // namespace tally::tidy
