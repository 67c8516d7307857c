// What a saved run can be asked: its samples by test name, and shares of segments from its results.
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>

#include "base/error.h"
#include "lab/stats.h"
#include "lab/whatif.h"

namespace tally::lab {

namespace {

// The median of all rounds, as one disturbed round must not bend a line.
struct Typical {
  std::vector<double> ms;
  double value() const { return stats::summarize(ms).median; }
};

// "pp512" → 512; "pp512@d4096" → nothing: only plain prompts make a curve.
std::optional<int> plain_prompt(const std::string& test) {
  int n = 0;
  const char *from = test.data() + 2, *end = test.data() + test.size();
  if (test.size() < 3 || test.compare(0, 2, "pp") != 0) return std::nullopt;
  auto r = std::from_chars(from, end, n);
  if (r.ec != std::errc() || r.ptr != end || n <= 0) return std::nullopt;
  return n;
}

// "tg128" → {128, 1}, "tg128@b4" → {128, 4}.
std::optional<std::pair<int, int>> decode_batch(const std::string& test) {
  if (test.size() < 3 || test.compare(0, 2, "tg") != 0) return std::nullopt;
  int n = 0, batch = 1;
  const char* end = test.data() + test.size();
  auto r = std::from_chars(test.data() + 2, end, n);
  if (r.ec != std::errc() || n <= 0) return std::nullopt;
  if (r.ptr != end) {
    if (end - r.ptr < 3 || r.ptr[0] != '@' || r.ptr[1] != 'b') return std::nullopt;
    auto b = std::from_chars(r.ptr + 2, end, batch);
    if (b.ec != std::errc() || b.ptr != end || batch <= 0) return std::nullopt;
  }
  return std::pair{n, batch};
}

std::string text_of(const Json& line, const char* key) {
  auto it = line.find(key);
  return it != line.end() && it->is_string() ? it->get<std::string>() : "";
}

// Milliseconds of a sample over `tokens`, whatever its unit.
std::optional<double> ms_of(const Json& line, double tokens) {
  if (auto ms = line.find("ms"); ms != line.end() && ms->is_number() && ms->get<double>() > 0) return ms->get<double>();
  auto value = line.find("value");
  if (value == line.end() || !value->is_number() || !(value->get<double>() > 0)) return std::nullopt;
  double v = value->get<double>();
  std::string unit = text_of(line, "unit");
  if (unit == "ms") return v;
  if (unit == "s") return 1000 * v;
  if (unit == "ns") return v / 1e6;
  if (unit == "tok/s" || unit == "t/s") return 1000 * tokens / v;
  return std::nullopt;
}

constexpr int kWidest = 64;  // positions of a forward that count as a round of drafts, not as a prompt

struct Harvest {
  std::map<std::string, std::map<int, Typical>> prompts;                 // variant → length → ms
  std::map<std::string, std::map<int, std::map<int, Typical>>> decodes;  // variant → tokens → batch → ms
  std::vector<Json> questions;
};

void take_sample(const Json& line, Harvest& h) {
  std::string test = text_of(line, "test"), variant = text_of(line, "variant");
  if (text_of(line, "phase") == "cold") return;
  if (auto n = plain_prompt(test)) {
    if (auto ms = ms_of(line, *n)) {
      h.prompts[variant][*n].ms.push_back(*ms);
    }
  } else if (auto d = decode_batch(test)) {
    if (auto ms = ms_of(line, static_cast<double>(d->first) * d->second)) {
      h.decodes[variant][d->first][d->second].ms.push_back(*ms);
    }
  }
}

// Shares of segments: any result whose values hold "segments": [{"name" or "segment", "share"}].
void take_result(const Json& line, Harvest& h) {
  auto values = line.find("values");
  if (values == line.end() || !values->is_object()) return;
  auto segments = values->find("segments");
  if (segments == values->end() || !segments->is_array()) return;
  Json names = Json::array(), shares = Json::array();
  for (const Json& s : *segments) {
    if (!s.is_object() || !s.contains("share") || !s.at("share").is_number()) continue;
    std::string name = text_of(s, "name").empty() ? text_of(s, "segment") : text_of(s, "name");
    if (name == "unattributed") continue;
    names.push_back(name);
    shares.push_back(s.at("share"));
  }
  if (shares.empty()) return;
  Json q{{"kind", "ceiling"}, {"title", "Segments of " + text_of(line, "run")}, {"names", names}, {"p", shares}};
  auto rate = values->find("rate_tok_s");
  if (rate != values->end() && rate->is_number() && rate->get<double>() > 0) q["rate"] = *rate;
  h.questions.push_back(std::move(q));
}

void ask_samples(Harvest& h) {
  for (const auto& [variant, lengths] : h.prompts) {
    if (lengths.size() < 2 || lengths.rbegin()->first < 2 * lengths.begin()->first) continue;
    Json n = Json::array(), ms = Json::array();
    for (const auto& [length, mean] : lengths) n.push_back(length), ms.push_back(mean.value());
    h.questions.push_back({{"kind", "fit"},
                           {"title", "Prompt lengths" + (variant.empty() ? "" : " of " + variant)},
                           {"n", n},
                           {"ms", ms}});
  }
  for (const auto& [variant, lengths] : h.prompts) {  // forwards over few positions: what drafts would cost
    if (lengths.count(1) == 0 || lengths.upper_bound(1) == lengths.end() || lengths.upper_bound(1)->first > kWidest)
      continue;
    Json w = Json::array(), v = Json::array();
    for (const auto& [length, mean] : lengths)
      if (length <= kWidest) w.push_back(length), v.push_back(mean.value());
    h.questions.push_back({{"kind", "speculate"},
                           {"title", "Widths of a forward" + (variant.empty() ? "" : " of " + variant)},
                           {"w", w},
                           {"v", v}});
  }
  for (const auto& [variant, by_tokens] : h.decodes)
    for (const auto& [tokens, batches] : by_tokens) {
      if (batches.size() < 2) continue;
      auto first = *batches.begin(), last = *batches.rbegin();
      auto rate = [&](int b, const Typical& m) { return 1000.0 * tokens * b / m.value(); };
      h.questions.push_back(
          {{"kind", "batch"},
           {"title", fmt::format("Batches of tg{}{}", tokens, variant.empty() ? "" : " of " + variant)},
           {"b1", first.first},
           {"r1", rate(first.first, first.second)},
           {"b2", last.first},
           {"r2", rate(last.first, last.second)}});
    }
}

}  // namespace

std::vector<Json> questions_of_run(const std::vector<Json>& lines) {
  Harvest h;
  for (const Json& line : lines) {
    if (!line.is_object()) continue;
    std::string kind = text_of(line, "kind");
    if (kind == "sample") take_sample(line, h);
    if (kind == "result") take_result(line, h);
  }
  ask_samples(h);
  if (h.questions.empty())
    fail(ErrorCode::BadInput,
         "nothing to ask of this run: two or more prompt lengths (the longest at least twice the shortest), "
         "two batch sizes, or shares of segments are expected in its samples and results");
  return h.questions;
}

}  // namespace tally::lab
