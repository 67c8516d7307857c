// tally render: chat messages to the text of a prompt, by a model's template or by a template file.
#include <fmt/format.h>

#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "app/chat_template.h"
#include "app/jsonl.h"
#include "app/model_path.h"
#include "app/read_file.h"
#include "base/base64.h"
#include "base/error.h"
#include "cli/command.h"
#include "gguf/gguf.h"
#include "text/chat.h"
#include "text/utf8.h"

namespace tally::cli {
namespace {

using text::Json;

struct Options {
  std::string source, message, system, messages_file, tools_file, now;
  std::vector<std::string> variables;
  bool jsonl = false, no_generation_prompt = false;
};

// What renders: a template file, a model, or (neither) the template of each line.
struct Renderer {
  std::optional<text::Template> file;  // variables exactly as given
  std::optional<app::ModelTemplate> model;
};

Renderer open_renderer(const std::string& source) {
  Renderer r;
  if (source.empty()) return r;
  if (source.ends_with(".jinja") || source.ends_with(".jinja2") || source.ends_with(".j2")) {
    r.file = text::Template::parse(app::read_file(source));
  } else {
    const gguf::File file = gguf::File::open(app::find_model(source));
    r.model = app::model_template(file.metadata());
  }
  return r;
}

Json value_or_null(const Json& line, const char* key) {
  const auto found = line.find(key);
  return found == line.end() ? Json() : *found;
}

std::string now_of(const Json& line) {
  const Json now = value_or_null(line, "now");
  if (now.is_null()) return "";
  if (!now.is_string())
    fail(ErrorCode::BadInput, "\"now\" is a JSON {}, expected a text as 2026-01-02T03:04:05", now.type_name());
  return now.get<std::string>();
}

bool generation_prompt_of(const Json& line) {
  const Json flag = value_or_null(line, "add_generation_prompt");
  if (flag.is_null()) return true;
  if (!flag.is_boolean())
    fail(ErrorCode::BadInput, "\"add_generation_prompt\" is a JSON {}, expected true or false", flag.type_name());
  return flag.get<bool>();
}

Json variables_of(const Json& line) {
  Json variables = value_or_null(line, "vars");
  if (variables.is_null()) return Json::object();
  if (!variables.is_object())
    fail(ErrorCode::BadInput, "\"vars\" is a JSON {}, expected an object", variables.type_name());
  return variables;
}

std::string render_file(const text::Template& t, const Json& line, const text::RenderOptions& options) {
  Json variables = Json::object();
  variables["messages"] = line.contains("messages") ? line["messages"] : Json::array();
  variables["tools"] = value_or_null(line, "tools");
  variables["add_generation_prompt"] = generation_prompt_of(line);
  const Json own = variables_of(line);
  for (const auto& [name, value] : own.items()) variables[name] = value;
  return t.render(variables, options);
}

std::string render_line(const Renderer& renderer, const Json& line) {
  text::RenderOptions options;
  options.now = now_of(line);
  if (renderer.model) {
    text::ChatInput input;
    input.messages = line.contains("messages") ? line["messages"] : Json::array();
    input.tools = value_or_null(line, "tools");
    input.add_generation_prompt = generation_prompt_of(line);
    input.extra_vars = variables_of(line);
    return renderer.model->render(std::move(input), options);
  }
  if (renderer.file) return render_file(*renderer.file, line, options);
  const Json source = value_or_null(line, "template");
  if (!source.is_string())
    fail(ErrorCode::BadInput,
         "\"template\" is missing or no text; give a template in each line, or a model or a .jinja file as argument");
  const auto t = text::Template::parse(source.get_ref<const std::string&>());
  if (line.contains("messages")) return render_file(t, line, options);
  return t.render(variables_of(line), options);
}

Json answer(const Renderer& renderer, const Json& line) {
  const std::string rendered = render_line(renderer, line);
  if (text::is_valid_utf8(rendered)) return {{"text", rendered}};
  return {{"bytes", base64_encode(rendered)}};
}

// The conversation of the command line: a file of messages, or a system text and a user text.
Json line_of(const Options& o) {
  Json line = Json::object();
  if (!o.messages_file.empty()) {
    Json given = app::parse_json_ordered(app::read_file(o.messages_file));
    if (given.is_object())
      line = std::move(given);
    else
      line["messages"] = std::move(given);
  } else {
    line["messages"] = Json::array();
    if (!o.system.empty()) line["messages"].push_back({{"role", "system"}, {"content", o.system}});
    line["messages"].push_back({{"role", "user"}, {"content", o.message}});
  }
  if (!o.tools_file.empty()) line["tools"] = app::parse_json_ordered(app::read_file(o.tools_file));
  if (o.no_generation_prompt) line["add_generation_prompt"] = false;
  if (!o.now.empty()) line["now"] = o.now;
  for (const auto& setting : o.variables) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) fail(ErrorCode::Usage, "render: --var {} has no =, expected NAME=VALUE", setting);
    Json value = Json::parse(setting.substr(equals + 1), nullptr, /*allow_exceptions=*/false);
    line["vars"][setting.substr(0, equals)] =
        value.is_discarded() ? Json(setting.substr(equals + 1)) : std::move(value);
  }
  return line;
}

void render(const Options& o) {
  const Renderer renderer = open_renderer(o.source);
  if (o.jsonl)
    return app::run_jsonl_ordered(std::cin, std::cout, [&](const Json& line) { return answer(renderer, line); });
  if (o.source.empty())
    fail(ErrorCode::Usage, "render: give a model or a .jinja file (or --jsonl with a template in each line)");
  if (o.message.empty() && o.messages_file.empty()) fail(ErrorCode::Usage, "render: give -m TEXT or --messages FILE");
  std::cout << render_line(renderer, line_of(o)) << std::flush;
}

}  // namespace

void add_render(CLI::App& app) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("render", "show the prompt that a chat becomes by a model's template");
  command->add_option("MODEL", options->source, "a model, or a template file (.jinja)");
  command->add_option("-m,--message", options->message, "the user's text");
  command->add_option("-s,--system", options->system, "a system text before it");
  command->add_option("--messages", options->messages_file,
                      "JSON file: an array of messages, or an object with messages, tools, vars, …");
  command->add_option("--tools", options->tools_file, "JSON file: an array of tools");
  command->add_option("--var", options->variables, "NAME=VALUE for the template, for instance enable_thinking=false");
  command->add_option("--now", options->now, "the time that the template sees, as 2026-01-02T03:04:05");
  command->add_flag("--no-generation-prompt", options->no_generation_prompt, "do not open the assistant's turn");
  command->add_flag(
      "--jsonl", options->jsonl,
      "serve lines {\"messages\", \"tools\", \"add_generation_prompt\", \"vars\", \"now\"}, or {\"template\", "
      "\"vars\"} without MODEL, with {\"text\"}");
  command->callback([options] { render(*options); });
}

}  // namespace tally::cli
