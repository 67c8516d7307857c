// Chrome JSON traces: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "app/jsonl.h"
#include "base/error.h"
#include "lab/trace.h"

namespace tally::lab {

namespace {

using nlohmann::json;

struct Event {
  double begin = 0, end = 0, inner = 0, bytes = 0;  // µs; inner: time of events inside
  std::string name, cat;
};

using Track = std::pair<std::string, std::string>;  // pid, tid

std::string text(const json& e, const char* key) {
  auto it = e.find(key);
  if (it == e.end()) return "";
  return it->is_string() ? it->get<std::string>() : it->dump();
}

double number(const json& e, const char* key, const std::string& path, size_t i) {
  auto it = e.find(key);
  if (it == e.end() || !it->is_number() || !std::isfinite(it->get<double>()))
    fail(ErrorCode::BadInput, "{}: event {} has no finite \"{}\"", path, i, key);
  return it->get<double>();
}

struct Reader {
  const std::string& path;
  std::map<Track, std::vector<Event>> tracks, open;
  bool kernels = false;  // some event is of category "kernel": a host with a device

  void event(const json& e, size_t i) {
    if (!e.is_object()) return;
    std::string ph = text(e, "ph");
    if (ph != "X" && ph != "B" && ph != "E") return;
    Track track{text(e, "pid"), text(e, "tid")};
    double ts = number(e, "ts", path, i);
    if (ph == "E") {
      auto& stack = open[track];
      if (stack.empty()) return;  // its begin lies before the recording
      stack.back().end = ts;
      tracks[track].push_back(stack.back());
      stack.pop_back();
      return;
    }
    Event v{.begin = ts, .name = text(e, "name"), .cat = text(e, "cat")};
    kernels = kernels || v.cat == "kernel";
    if (auto a = e.find("args"); a != e.end() && a->is_object())
      if (auto b = a->find("bytes"); b != a->end() && b->is_number()) v.bytes = b->get<double>();
    if (ph == "B") {
      open[track].push_back(v);
      return;
    }
    double dur = e.contains("dur") ? number(e, "dur", path, i) : 0;
    if (dur < 0) fail(ErrorCode::BadInput, "{}: event {} lasts {} µs; must be ≥ 0", path, i, dur);
    v.end = ts + dur;
    tracks[track].push_back(v);
  }
};

// Takes the time of events inside others off the outer ones, so that each moment of a track counts once.
void nest(std::vector<Event>& events) {
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<Event*> stack;
  for (Event& e : events) {
    while (!stack.empty() && stack.back()->end <= e.begin) stack.pop_back();
    if (!stack.empty()) stack.back()->inner += std::min(e.end, stack.back()->end) - e.begin;
    stack.push_back(&e);
  }
}

}  // namespace

Trace read_chrome_trace(const std::string& content, const std::string& path) {
  json document = app::parse_json(content);
  const json* events = &document;
  if (document.is_object()) {
    auto it = document.find("traceEvents");
    if (it == document.end()) fail(ErrorCode::BadInput, "{}: JSON without \"traceEvents\": no Chrome trace", path);
    events = &*it;
  }
  if (!events->is_array()) fail(ErrorCode::BadInput, "{}: \"traceEvents\" is no list", path);
  Reader r{path};
  size_t i = 0;
  for (const json& e : *events) r.event(e, i++);
  Trace t{.format = "chrome"};
  double first = std::numeric_limits<double>::infinity(), last = -first;
  std::map<std::pair<std::string, std::string>, TraceOp> sums;
  for (auto& [track, list] : r.tracks) {
    nest(list);
    for (const Event& e : list) {
      first = std::min(first, e.begin);
      last = std::max(last, e.end);
      bool device = e.cat == "kernel" || e.cat == "gpu_memcpy" || e.cat == "gpu_memset";
      if (e.cat == "unattributed" || (r.kernels && !device)) continue;
      TraceOp& o = sums[{e.name, e.cat}];
      ++o.calls;
      o.ms += std::max(0.0, e.end - e.begin - e.inner) / 1000;
      o.bytes += e.bytes;
    }
  }
  for (const auto& [key, o] : sums) t.ops.push_back({key.first, key.second, o.calls, o.ms, o.bytes});
  if (last > first) t.wall_ms = (last - first) / 1000;
  size_t never_ended = 0;
  for (const auto& entry : r.open) never_ended += entry.second.size();
  if (never_ended > 0) t.notes.push_back(fmt::format("{} events begin and never end: not counted", never_ended));
  auto other = document.is_object() ? document.find("otherData") : document.end();
  if (other != document.end() && other->is_object() && other->value("not_kept", json(0)).is_number() &&
      other->value("not_kept", json(0)).get<double>() > 0)
    t.notes.push_back("the trace is not whole: older dispatches were not kept");
  return t;
}

}  // namespace tally::lab
