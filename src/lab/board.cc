#include "lab/board.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <tuple>

#include "app/jsonl.h"
#include "base/error.h"
#include "base/processor.h"
#include "base/thread_team.h"
#include "lab/stats.h"

namespace tally::lab {

namespace {

std::string string_of(const Json& j, const char* key, const std::string& where) {
  auto found = j.find(key);
  if (found == j.end() || !found->is_string())
    fail(ErrorCode::BadInput, "{}: \"{}\" is missing or no text", where, key);
  return *found;
}

BoardEntry entry_of(const Json& j, const std::string& where) {
  BoardEntry e{.engine = string_of(j, "engine", where),
               .target = string_of(j, "target", where),
               .test = string_of(j, "test", where),
               .weights_sha256 = string_of(j, "weights_sha256", where),
               .machine = string_of(j, "machine", where),
               .date = string_of(j, "date", where)};
  auto samples = j.find("samples");
  if (samples == j.end() || !samples->is_array() || samples->empty())
    fail(ErrorCode::BadInput, "{}: \"samples\" is missing or empty", where);
  for (const Json& s : *samples) {
    if (!s.is_number() || !(s.get<double>() > 0))
      fail(ErrorCode::BadInput, "{}: \"samples\" holds {}", where, s.dump());
    e.samples.push_back(s.get<double>());
  }
  e.lower_bound = j.value("lower_bound", false);
  if (j.contains("provenance")) e.provenance = j["provenance"];
  age_days(e.date, 0);
  return e;
}

std::string age_text(int days) {
  return days <= 0 ? "today" : days == 1 ? "yesterday" : fmt::format("{} days ago", days);
}

// Rows of one group, ranked; numbers go on from `first_rank`.
void add_ranked(Block& b, Json& rows, const std::vector<BoardEntry>& entries, std::time_t now, bool stale) {
  std::vector<def::RankItem> items;
  for (const BoardEntry& e : entries) {
    stats::Summary s = stats::summarize(e.samples);
    items.push_back({e.engine, s.mean, s.sd, s.n, e.lower_bound});
  }
  std::vector<def::RankRow> ranked = def::rank(items);
  for (const def::RankRow& r : ranked) {
    size_t at = size_t(std::find_if(items.begin(), items.end(), [&](const auto& i) { return i.name == r.name; }) -
                       items.begin());
    const def::RankItem& item = items[at];
    const BoardEntry& e = entries[at];
    int age = age_days(e.date, now);
    bool tie = std::count_if(ranked.begin(), ranked.end(), [&](const auto& x) { return x.rank == r.rank; }) > 1;
    std::string place = stale ? "stale" : fmt::format("{}{}", tie ? "= " : "", r.rank);
    b.table.rows.push_back({item.name, place, rate_text(item.mean, item.lower_bound),
                            item.n > 1 ? rate_text(item.sd, false) : "–", std::to_string(item.n),
                            r.tie_with_next  ? "tie"
                            : r.against_next ? fmt::format("{:.2g}", r.against_next->p)
                                             : "–",
                            fmt::format("{} ({})", e.date.substr(0, 10), age_text(age))});
    Json row{{"engine", item.name}, {"target", e.target},
             {"mean", item.mean},   {"sd", item.sd},
             {"n", item.n},         {"lower_bound", item.lower_bound},
             {"date", e.date},      {"age_days", age},
             {"stale", stale},      {"tie_with_next", r.tie_with_next},
             {"samples", e.samples}};
    row["tie"] = tie;
    row["rank"] = stale ? Json(nullptr) : Json(r.rank);
    rows.push_back(std::move(row));
  }
}

Block group_block(const std::vector<BoardEntry>& latest, std::time_t now) {
  const BoardEntry& one = latest[0];
  Block b{.name = "board", .title = fmt::format("{} on weights {}…", one.test, one.weights_sha256.substr(0, 12))};
  if (one.weights_sha256.empty()) b.title = one.test + " on unknown weights";
  b.table.columns = {"engine", "rank", "tok/s", "±", "n", "p against the next", "measured"};
  std::vector<BoardEntry> fresh, stale;
  for (const BoardEntry& e : latest) (age_days(e.date, now) > kStaleDays ? stale : fresh).push_back(e);
  Json rows = Json::array();
  if (!fresh.empty()) add_ranked(b, rows, fresh, now, false);
  if (!stale.empty()) add_ranked(b, rows, stale, now, true);
  b.values = {{"test", one.test}, {"weights_sha256", one.weights_sha256}, {"machine", one.machine}, {"entries", rows}};
  b.notes.push_back("machine: " + one.machine);
  if (!stale.empty())
    b.notes.push_back(
        fmt::format("{} of {} entries are older than {} days: measure again", stale.size(), latest.size(), kStaleDays));
  if (std::any_of(latest.begin(), latest.end(), [](const auto& e) { return e.lower_bound; }))
    b.notes.push_back("≥: the rate is a lower bound (time to the first token, or a whole process)");
  b.notes.push_back("a tie: the 95 % interval of the difference contains 0, or the noise is not known");
  return b;
}

}  // namespace

Json json_of(const BoardEntry& e) {
  return {{"schema", kSchema},
          {"kind", "entry"},
          {"date", e.date},
          {"engine", e.engine},
          {"target", e.target},
          {"test", e.test},
          {"unit", "tok/s"},
          {"samples", e.samples},
          {"lower_bound", e.lower_bound},
          {"weights_sha256", e.weights_sha256},
          {"machine", e.machine},
          {"provenance", e.provenance}};
}

std::vector<BoardEntry> read_board(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<BoardEntry> out;
  size_t n = 0;
  for (std::string line; std::getline(in, line);) {
    if (++n > kBoardLinesMax)
      fail(ErrorCode::BadInput, "{}: more than {} lines; keep old ones elsewhere", path, kBoardLinesMax);
    if (line.empty()) continue;
    std::string where = fmt::format("{}, line {}", path, n);
    Json j;
    try {
      j = app::parse_json_ordered(line);
    } catch (const Error& e) {
      fail(ErrorCode::BadInput, "{}: {}", where, e.what());
    }
    if (!j.is_object()) fail(ErrorCode::BadInput, "{}: no JSON object", where);
    out.push_back(entry_of(j, where));
  }
  return out;
}

void append_board(const std::string& path, const std::vector<BoardEntry>& entries) {
  std::ofstream out(path, std::ios::binary | std::ios::app);
  for (const BoardEntry& e : entries) out << app::dump_json(json_of(e)) << '\n';
  out.flush();
  if (!out) fail(ErrorCode::BadInput, "{}: cannot be written; --file needs a folder that exists", path);
}

int age_days(const std::string& date, std::time_t now) {
  std::tm t{};
  const char* end = strptime(date.c_str(), "%Y-%m-%dT%H:%M:%SZ", &t);
  if (!end || *end) fail(ErrorCode::BadInput, "\"{}\": no date; expected 2026-01-31T12:00:00Z", date);
  return int((now - timegm(&t)) / 86400);
}

std::vector<Block> board_blocks(const std::vector<BoardEntry>& entries, std::time_t now) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::vector<std::pair<Key, std::vector<BoardEntry>>> groups;
  for (const BoardEntry& e : entries) {
    Key key{e.test, e.weights_sha256, e.machine};
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == key; });
    if (group == groups.end()) group = groups.insert(groups.end(), {key, {}});
    auto same =
        std::find_if(group->second.begin(), group->second.end(), [&](const auto& x) { return x.engine == e.engine; });
    if (same == group->second.end()) {
      group->second.push_back(e);
    } else if (same->date <= e.date) {
      *same = e;
    }
  }
  std::vector<Block> out;
  for (const auto& [key, latest] : groups) out.push_back(group_block(latest, now));
  return out;
}

namespace {

// "NAME=TARGET" in two; a target alone is its own name. The name ends before anything that a target may hold.
std::pair<std::string, std::string> split_name(const std::string& text) {
  size_t at = text.find('=');
  bool named = at != std::string::npos && text.find_first_of(": /") > at;
  return named ? std::pair(text.substr(0, at), text.substr(at + 1)) : std::pair(std::string(), text);
}

std::vector<BoardEntry> measure_engines(const BoardArgs& args, std::time_t now, Output& output) {
  std::vector<std::unique_ptr<Target>> targets;
  std::vector<Variant> variants;
  for (const std::string& text : args.engines) {
    auto [name, spec] = split_name(text);
    targets.push_back(open_target(spec, args.measure.target_options()));
    if (name.empty()) name = targets.back()->label();
    for (const Variant& v : variants)
      if (v.name == name) fail(ErrorCode::Usage, "two engines are called \"{}\"; name them: NAME=TARGET", name);
    variants.push_back({name, targets.back().get()});
  }
  std::vector<std::string> notes;
  std::string weights = require_same_weights(variants, &notes);
  std::vector<TestShape> shapes = args.shapes.shapes();
  Rounds rounds = measure_rounds(variants, shapes, args.rounds, output, args.inner);
  std::vector<BoardEntry> fresh;
  for (size_t v = 0; v < variants.size(); ++v)
    for (size_t s = 0; s < shapes.size(); ++s)
      fresh.push_back({.engine = variants[v].name,
                       .target = targets[v]->label(),
                       .test = shapes[s].name(),
                       .weights_sha256 = weights,
                       .machine = fmt::format("{}, {} cores", processor_name(), available_cores()),
                       .date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)),
                       .samples = rates_of(rounds.of[v][s]),
                       .lower_bound = any_lower_bound(rounds.of[v][s]),
                       .provenance = targets[v]->provenance()});
  if (!notes.empty()) output.block({.name = "weights", .title = "Weights", .notes = notes});
  output.block(machine_block(rounds.machine));
  return fresh;
}

}  // namespace

void run_board(const BoardArgs& args, Output& output) {
  std::vector<BoardEntry> entries;
  if (!args.file.empty()) entries = read_board(args.file);
  std::time_t now = std::time(nullptr);
  if (!args.show) {
    std::vector<BoardEntry> fresh = measure_engines(args, now, output);
    if (!args.file.empty()) append_board(args.file, fresh);
    entries.insert(entries.end(), fresh.begin(), fresh.end());
  }
  for (const Block& b : board_blocks(entries, now)) output.block(b);
}

}  // namespace tally::lab
