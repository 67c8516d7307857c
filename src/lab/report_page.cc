// The page around the document. Markup, style and script are files of src/lab/page, in the program as text.
#include <fmt/format.h>
#include <openssl/sha.h>

#include "base/base64.h"
#include "base/check.h"
#include "base/error.h"
#include "lab/page.h"
#include "lab/report.h"

namespace tally::lab {

namespace {

// What a content security policy calls the hash of an inline element.
std::string hash_source(std::string_view text) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  return fmt::format("'sha256-{}'", base64_encode(std::span<const uint8_t>(digest, sizeof digest)));
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

}  // namespace

std::string script_safe_json(const Json& value) {
  const std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (char c : text) {  // only strings hold these three, where an escape means the same
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string report_page(const Json& document, const std::string& title, const ReportLimits& limits) {
  const std::string data = script_safe_json(document);
  const std::string style(page::style());
  const std::string script = fmt::format("(() => {{\n\"use strict\";\n{}\n}})();\n", page::script());
  const std::string policy =
      fmt::format("default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
                  hash_source(script), hash_source(style));
  std::string out(page::frame());
  const auto put = [&out](std::string_view mark, const std::string& text) {
    const size_t at = out.find(mark);
    CHECK(at != std::string::npos);
    out.replace(at, mark.size(), text);
  };
  // The last of the page first: no mark is looked for behind what a run file could have put there.
  put("{{script}}", script);
  put("{{data}}", data);
  put("{{style}}", style);
  put("{{title}}", escape_html(title));
  put("{{policy}}", policy);
  if (out.size() > limits.bytes_of_page)
    fail(ErrorCode::BadInput, "the page would have {} bytes, at most {} are written; give fewer run files", out.size(),
         limits.bytes_of_page);
  return out;
}

}  // namespace tally::lab
