#include "text/template.h"

#include "text/jinja_error.h"
#include "text/jinja_interp.h"
#include "text/jinja_parser.h"
#include "text/jinja_resolve.h"
#include "text/utf8.h"

namespace tally::text {

Template Template::parse(std::string_view source, const TemplateLimits& limits) {
  if (source.size() > limits.source_bytes)
    jinja::raise(jinja::Err::Limit, 0,
                 fmt::format("the template has {} bytes, at most {} are read", source.size(), limits.source_bytes));
  Template t;
  t.source_ = is_valid_utf8(source) ? std::string(source) : replace_ill_formed(source, Replace::EachSequence);
  auto program = jinja::parse_template(t.source_);
  jinja::resolve(program.get());
  t.program_ = std::move(program);
  return t;
}

std::string Template::render(const Json& variables, const RenderOptions& options) const {
  if (!variables.is_object() && !variables.is_null())
    jinja::raise(jinja::Err::Type, 0, "the variables of a template must be an object");
  return jinja::Interp(*program_, options).render(variables);
}

}  // namespace tally::text
