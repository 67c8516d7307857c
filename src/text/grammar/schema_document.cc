#include "text/grammar/schema_document.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/grammar/constraint_error.h"

namespace tally::grammar {
namespace {

bool has_scheme(std::string_view uri) {
  size_t colon = uri.find_first_of(":/?#");
  return colon != std::string_view::npos && colon > 0 && uri[colon] == ':';
}

// RFC 3986, section 5.2, without the removal of dots: it is only compared with other names of the document.
std::string resolve_uri(const std::string& base, std::string_view reference) {
  if (reference.empty()) return base;
  if (has_scheme(reference) || base.empty()) return std::string(reference);
  const size_t authority = base.find("://");
  const size_t path = base.find('/', authority == std::string::npos ? 0 : authority + 3);
  if (reference.substr(0, 2) == "//") return base.substr(0, base.find(':') + 1) + std::string(reference);
  if (reference[0] == '/') return base.substr(0, std::min(path, base.size())) + std::string(reference);
  if (path == std::string::npos) {
    return authority == std::string::npos ? std::string(reference) : base + "/" + std::string(reference);
  }
  return base.substr(0, base.rfind('/') + 1) + std::string(reference);
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

}  // namespace

SchemaDocument::SchemaDocument(JsonDocument json, std::vector<std::string>* warnings)
    : json_(std::move(json)), warnings_(warnings) {
  resource_.assign(json_.n_values(), -1);
  resources_.push_back({json_.root(), ""});
  check_from(json_.root(), 0);
}

void SchemaDocument::check_from(int schema, int resource) {
  add_subschema(schema, resource);
  while (!to_check_.empty()) {
    auto [v, r] = to_check_.back();
    to_check_.pop_back();
    if (resource_[v] >= 0) continue;
    if (json_.is(v, JsonKind::Object)) name_resource(v, r);
    resource_[v] = r;
    check_schema(v, r);
  }
}

void SchemaDocument::name_resource(int schema, int& resource) {
  int id = json_.find(schema, "$id");
  if (id >= 0 && json_.is(id, JsonKind::String)) {
    std::string uri(json_.text(id));
    const size_t hash = uri.find('#');
    const std::string fragment = hash == std::string::npos ? "" : uri.substr(hash + 1);
    uri = resolve_uri(resources_[resource].uri, uri.substr(0, hash));
    if (fragment.empty() || uri != resources_[resource].uri) {
      if (schema == json_.root()) {
        resources_[0].uri = uri;
      } else {
        resource = static_cast<int>(resources_.size());
        resources_.push_back({schema, uri});
      }
      if (!by_uri_.emplace(uri, resource).second) {
        throw ConstraintError("invalid_schema", json_.pointer(id), "two schemas of the document have this $id");
      }
    }
    if (!fragment.empty()) anchors_[{resource, fragment}] = schema;
  }
  for (const char* keyword : {"$anchor", "$dynamicAnchor"}) {
    int anchor = json_.find(schema, keyword);
    if (anchor < 0 || !json_.is(anchor, JsonKind::String)) continue;
    const std::string name(json_.text(anchor));
    auto [it, fresh] = anchors_.try_emplace({resource, name}, schema);
    if (!fresh && it->second != schema) {
      throw ConstraintError("invalid_schema", json_.pointer(anchor), "two schemas of one document have this anchor");
    }
    if (keyword[1] == 'd') ++dynamic_anchors_[name];
  }
}

int SchemaDocument::resource_of(int value) const {
  while (value >= 0 && resource_[value] < 0) value = json_.parent(value);
  return value < 0 ? 0 : resource_[value];
}

int SchemaDocument::at_pointer(int from, std::string_view pointer, int reference) const {
  auto bad = [&](const std::string& what) {
    throw ConstraintError("reference", json_.pointer(reference),
                          fmt::format("the reference \"{}\" {}", json_.text(reference).substr(0, 200), what));
  };
  int at = from;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const size_t end = std::min(pointer.find('/'), pointer.size());
    std::string token;
    for (size_t i = 0; i < end; ++i) {
      if (pointer[i] != '~') {
        token += pointer[i];
        continue;
      }
      const char next = i + 1 < end ? pointer[++i] : '\0';
      if (next != '0' && next != '1') bad("has a '~' that is not followed by 0 or 1");
      token += next == '0' ? '~' : '/';
    }
    pointer.remove_prefix(end);
    int next = -1;
    if (json_.is(at, JsonKind::Object)) next = json_.find(at, token);
    if (json_.is(at, JsonKind::Array)) {
      const bool index =
          !token.empty() && token.size() < 9 && token.find_first_not_of("0123456789") == std::string::npos;
      if (!index || (token.size() > 1 && token[0] == '0')) bad("has something else than an index for an array");
      const int i = std::stoi(token);
      if (i < json_.size(at)) next = json_.child(at, i);
    }
    if (next < 0) bad("leads to nothing in this document");
    at = next;
  }
  return at;
}

int SchemaDocument::target(int reference) {
  if (auto it = targets_.find(reference); it != targets_.end()) return it->second;
  const std::string_view text = json_.text(reference);
  auto bad = [&](const std::string& what) {
    throw ConstraintError("reference", json_.pointer(reference),
                          fmt::format("the reference \"{}\" {}", text.substr(0, 200), what));
  };
  const size_t hash = text.find('#');
  int resource = resource_of(reference);
  if (std::string_view name = text.substr(0, hash); !name.empty()) {
    auto it = by_uri_.find(resolve_uri(resources_[resource].uri, name));
    if (it == by_uri_.end()) bad("leads out of the document; other documents are never fetched, put it into $defs");
    resource = it->second;
  }
  std::string fragment;
  for (size_t i = hash == std::string_view::npos ? text.size() : hash + 1; i < text.size(); ++i) {
    if (text[i] != '%') {
      fragment += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_value(text[i + 2]) : -1;
    if (low < 0) bad("has a '%' that is not followed by two hexadecimal digits");
    fragment += static_cast<char>(high * 16 + low);
    i += 2;
  }
  int at = resources_[resource].root;
  if (!fragment.empty() && fragment[0] != '/') {
    auto it = anchors_.find({resource, fragment});
    if (it == anchors_.end()) bad("names an anchor that is not in this document");
    at = it->second;
  } else {
    at = at_pointer(at, fragment, reference);
  }
  if (!json_.is(at, JsonKind::Object) && !json_.is(at, JsonKind::True) && !json_.is(at, JsonKind::False))
    bad(fmt::format("leads to {}, which is no schema", name_of(json_.kind(at))));
  if (resource_[at] < 0) check_from(at, resource_of(at));
  targets_.emplace(reference, at);
  return at;
}

bool SchemaDocument::is_ambiguous(int reference) const {
  const std::string_view text = json_.text(reference);
  auto it = dynamic_anchors_.find(std::string(text.substr(std::min(text.find('#'), text.size() - 1) + 1)));
  return it != dynamic_anchors_.end() && it->second > 1;
}

int SchemaDocument::follow(int schema) {
  for (int steps = 0;; ++steps) {
    if (!json_.is(schema, JsonKind::Object)) return schema;
    int reference = -1;
    for (int i = 0; i < json_.size(schema); ++i) {
      switch (keyword_of(json_.key(schema, i))) {
        case Keyword::Ref:
          reference = json_.child(schema, i);
          break;
        case Keyword::Unknown:
        case Keyword::Id:
        case Keyword::Anchor:
        case Keyword::DynamicAnchor:
        case Keyword::Defs:
          break;
        default:
          return schema;
      }
    }
    if (reference < 0) return schema;
    if (steps > json_.n_values()) {
      throw ConstraintError("reference", json_.pointer(reference), "the reference leads back to itself");
    }
    schema = target(reference);
  }
}

}  // namespace tally::grammar
