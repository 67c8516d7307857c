// Hostile templates end with an error, soon and without harm.
#include <gtest/gtest.h>

#include <thread>

#include "text/template.h"

namespace tally::text {
namespace {

std::string render(const std::string& source, const Json& variables = Json::object(),
                   const RenderOptions& options = {}) {
  return Template::parse(source).render(variables, options);
}

void expect_limit(const std::string& source, const RenderOptions& options = {}) {
  try {
    const std::string text = render(source, Json::object(), options);
    ADD_FAILURE() << source.substr(0, 100) << " gave " << text.size() << " bytes";
  } catch (const TemplateError& e) {
    EXPECT_TRUE(e.kind() == "LimitError" || e.kind() == "OverflowError") << source.substr(0, 100) << ": " << e.what();
    EXPECT_EQ(e.code(), ErrorCode::BadInput);
  }
}

std::string repeated(const std::string& text, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += text;
  return out;
}

TEST(TemplateLimits, Steps) {
  const std::string loops = repeated("{% for a in range(100000) %}", 3) + "x" + repeated("{% endfor %}", 3);
  RenderOptions options;
  options.limits.steps = 100'000;
  expect_limit(loops, options);
  options.limits.steps = 5'000'000;
  expect_limit("{% macro f(n) %}{{ f(n - 1) if n > 0 }}{{ f(n - 1) if n > 0 }}{% endmacro %}{{ f(60) }}", options);
  expect_limit("{% set xs = [1] %}{% for x in xs %}{{ xs.append(1) }}{% endfor %}", options);
}

TEST(TemplateLimits, Depth) {
  expect_limit("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}");
  expect_limit("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}");
  expect_limit("{{ " + repeated("(", 5000) + "1" + repeated(")", 5000) + " }}");
  expect_limit("{{ " + repeated("[", 5000) + repeated("]", 5000) + " }}");
  expect_limit("{{ " + repeated("not ", 5000) + "1 }}");
  expect_limit("{{ " + repeated("-", 5000) + "1 }}");
  expect_limit("{{ 1" + repeated(" + 1", 5000) + " }}");
  expect_limit("{{ a" + repeated(".a", 5000) + " }}");
  expect_limit("{{ a" + repeated("|e", 5000) + " }}");
  expect_limit(repeated("{% if 1 %}", 5000) + repeated("{% endif %}", 5000));
  // Values that nest by a loop: they may exist, be dropped and be refused where something walks them.
  const std::string nest =
      "{% set ns = namespace(x=[]) %}{% for i in range(50000) %}{% set ns.x = [ns.x] %}{% endfor %}";
  EXPECT_EQ(render(nest + "ok"), "ok");
  expect_limit(nest + "{{ ns.x }}");
  expect_limit(nest + "{{ ns.x | tojson }}");
  expect_limit(nest + "{{ ns.x == [ns.x] }}");
}

TEST(TemplateLimits, Memory) {
  RenderOptions options;
  options.limits.memory_bytes = 8 << 20;
  expect_limit("{{ 'x' * 1000000000000 }}", options);
  expect_limit("{{ [0] * 1000000000 }}", options);
  expect_limit("{{ 'x'.center(1000000000) }}", options);
  EXPECT_THROW(render("{{ '%999999999d' % 1 }}", Json::object(), options), TemplateError);
  expect_limit("{{ 'x'.zfill(1000000000) }}", options);
  expect_limit("{{ 'a' * 100000000 }}", options);
  expect_limit("{{ 2 ** 100000000 }}", options);
  expect_limit("{{ range(100000000) }}", options);
  expect_limit("{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
               options);
  expect_limit(
      "{% set ns = namespace(s='x') %}{% for i in range(60) %}{% set ns.s = ns.s | replace('x', 'xx') %}{% endfor %}",
      options);
  expect_limit("{% set xs = [] %}{% for i in range(100000) %}{{ xs.append([i, i, i, i]) }}{% endfor %}", options);
  expect_limit("{% set d = {} %}{% for i in range(1000000) %}{{ d.update({i: i}) }}{% endfor %}", options);
  // What is dropped does not count.
  EXPECT_EQ(render("{% for i in range(1000) %}{% set s = 'x' * 100000 %}{% endfor %}ok", Json::object(), options),
            "ok");
}

TEST(TemplateLimits, Output) {
  RenderOptions options;
  options.limits.output_bytes = 1 << 20;
  expect_limit("{% for i in range(100000) %}{{ 'x' * 100 }}{% endfor %}", options);
  TemplateLimits small;
  small.source_bytes = 10;
  EXPECT_THROW(Template::parse("longer than that", small), TemplateError);
}

TEST(TemplateLimits, CyclesEnd) {
  EXPECT_THROW(render("{% set xs = [] %}{{ xs.append(xs) }}{{ xs }}"), TemplateError);
  EXPECT_THROW(render("{% set xs = [] %}{% set _ = xs.append(xs) %}{{ xs | tojson }}"), TemplateError);
  EXPECT_EQ(render("{% set ns = namespace() %}{% set ns.self = ns %}{% macro f() %}{% endmacro %}{% set ns.f = f %}ok"),
            "ok");
  EXPECT_EQ(render("{% set d = {} %}{% set _ = d.update({'d': d}) %}{{ d.d.d.d is mapping }}"), "True");
}

TEST(TemplateLimits, OneTemplateInManyThreads) {
  const Template t = Template::parse(
      "{% macro f(x) %}<{{ x ~ 'é' }}>{% endmacro %}{% for m in ms %}{{ f(m.a) }}{{ 'k' in m }}{{ loop.last }}{% "
      "endfor %}");
  const Json variables{{"ms", Json::array({Json{{"a", 1}}, Json{{"a", "b"}, {"k", nullptr}}})}};
  const std::string expected = t.render(variables);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) EXPECT_EQ(t.render(variables), expected);
    });
  for (auto& thread : threads) thread.join();
}

TEST(TemplateErrors, SayWhatAndWhere) {
  try {
    render("a\nb\n{{ x.y.z }}");
    FAIL();
  } catch (const TemplateError& e) {
    EXPECT_EQ(e.kind(), "UndefinedError");
    EXPECT_EQ(e.line(), 3);
    EXPECT_STREQ(e.what(), "chat template, line 3: UndefinedError: 'x' is undefined");
  }
  try {
    render("{{ raise_exception('Only user and assistant roles are supported!') }}");
    FAIL();
  } catch (const TemplateError& e) {
    EXPECT_STREQ(e.what(), "Only user and assistant roles are supported!");
  }
}

}  // namespace
}  // namespace tally::text
