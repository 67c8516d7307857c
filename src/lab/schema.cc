#include "lab/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tally::lab {

namespace {

constexpr std::array kFields = {
    SchemaField{"head", "command", "string"},
    SchemaField{"head", "started", "string"},
    SchemaField{"head", "machine", "object"},
    SchemaField{"head", "model", "string or null"},
    SchemaField{"head", "weights_sha256", "string or null"},
    SchemaField{"head", "seed", "integer"},
    SchemaField{"sample", "test", "string"},
    SchemaField{"sample", "variant", "string"},
    SchemaField{"sample", "phase", "string"},
    SchemaField{"sample", "round", "integer"},
    SchemaField{"sample", "position_in_round", "integer"},
    SchemaField{"sample", "value", "number"},
    SchemaField{"sample", "unit", "string"},
    SchemaField{"sample", "ms", "number"},
    SchemaField{"sample", "tokens", "number"},
    SchemaField{"sample", "lower_bound", "boolean"},
    SchemaField{"sample", "text_kind", "string"},
    SchemaField{"sample", "prompt_sha256", "string"},
    SchemaField{"sample", "tokens_in", "integer"},
    SchemaField{"sample", "tokens_out", "integer"},
    SchemaField{"sample", "tokens_cached", "integer"},
    SchemaField{"sample", "tokens_counted_by", "string"},
    SchemaField{"sample", "finish_reason", "string"},
    SchemaField{"sample", "output_sha256", "string"},
    SchemaField{"sample", "dispatches", "integer"},
    SchemaField{"sample", "ttft_ms", "number"},
    SchemaField{"sample", "tool_ms", "number"},
    SchemaField{"sample", "tools", "array"},
    SchemaField{"sample", "whole_process", "boolean"},
    SchemaField{"sample", "s", "number"},
    SchemaField{"sample", "clock_mhz", "number or null"},
    SchemaField{"sample", "temp_c", "number or null"},
    SchemaField{"sample", "power_w", "number or null"},
    SchemaField{"values", "clock_mhz", "array"},
    SchemaField{"values", "temp_c", "array"},
    SchemaField{"values", "power_w", "array or null"},
    SchemaField{"values", "baseline_id", "string"},
    SchemaField{"values", "null_ratio_ci", "array or null"},
    SchemaField{"values", "tried_variants", "integer"},
    SchemaField{"values", "coverage", "number or null"},
    SchemaField{"values", "dispatches", "number"},
    SchemaField{"values", "bytes_read", "number or null"},
    SchemaField{"values", "correctness", "object"},
    SchemaField{"values", "j_per_token", "number or null"},
};

bool has_type(const Json& value, const std::string& type) {
  if (value.is_null()) return type.find("or null") != std::string::npos;
  std::string base = type.substr(0, type.find(' '));
  if (base == "string") return value.is_string();
  if (base == "number") return value.is_number();
  if (base == "integer") return value.is_number_integer();
  if (base == "boolean") return value.is_boolean();
  if (base == "array") return value.is_array();
  return value.is_object();
}

void check_fields(const Json& object, const std::string& in, bool only_known, std::vector<std::string>& problems) {
  for (const auto& [key, value] : object.items()) {
    auto field = std::find_if(kFields.begin(), kFields.end(),
                              [&, name = &key](const SchemaField& f) { return in == f.in && *name == f.name; });
    bool envelope = key == "schema" || key == "kind" || key == "run";
    if (field == kFields.end()) {
      if (only_known && !envelope) problems.push_back(fmt::format("{}: unknown field \"{}\"", in, key));
    } else if (!has_type(value, field->type)) {
      problems.push_back(fmt::format("{}: \"{}\" is {}, expected {}", in, key, value.type_name(), field->type));
    }
  }
}

void need(const Json& object, std::initializer_list<std::pair<const char*, const char*>> fields, const std::string& in,
          std::vector<std::string>& problems) {
  for (const auto& [name, type] : fields) {
    auto found = object.find(name);
    if (found == object.end()) problems.push_back(fmt::format("{}: \"{}\" is missing", in, name));
    if (found != object.end() && !has_type(*found, type))
      problems.push_back(fmt::format("{}: \"{}\" is {}, expected {}", in, name, found->type_name(), type));
  }
}

}  // namespace

std::span<const SchemaField> schema_fields() { return kFields; }

std::vector<std::string> schema_problems(const Json& line) {
  std::vector<std::string> problems;
  if (!line.is_object()) return {"not an object"};
  need(line, {{"schema", "integer"}, {"kind", "string"}, {"run", "string"}}, "line", problems);
  if (!problems.empty()) return problems;
  if (line["schema"] != kSchema) problems.push_back(fmt::format("schema {} is not {}", line["schema"].dump(), kSchema));
  std::string kind = line["kind"];
  if (kind == "head") {
    need(line, {{"command", "string"}, {"started", "string"}}, kind, problems);
    check_fields(line, kind, false, problems);
  } else if (kind == "sample") {
    need(line, {{"test", "string"}, {"variant", "string"}, {"value", "number"}, {"unit", "string"}}, kind, problems);
    check_fields(line, kind, true, problems);
  } else if (kind == "result") {
    need(line,
         {{"name", "string"},
          {"title", "string"},
          {"valid", "boolean"},
          {"values", "object"},
          {"verdict", "string"},
          {"notes", "array"},
          {"table", "object"}},
         kind, problems);
    if (line.value("valid", true) == false) need(line, {{"reason", "string"}}, kind, problems);
    if (line.contains("values") && line["values"].is_object()) check_fields(line["values"], "values", false, problems);
  } else {
    problems.push_back(fmt::format("kind \"{}\" is none of head, sample, result", kind));
  }
  return problems;
}

}  // namespace tally::lab
