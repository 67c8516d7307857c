// Nsight Systems exports ("nsys export --type sqlite"); its documentation describes the schema and says that it may
// change, so only what is needed is asked for: kernels, copies, fills and traced graphs with their times.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "lab/trace.h"

namespace tally::lab {

namespace {

using Database = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;
using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

// A file from elsewhere may hold views that never end: it gets so many steps in all.
constexpr int kStepsPerCall = 100'000, kMostCalls = 20'000;

struct Reader {
  const std::string& path;
  Database db{nullptr, sqlite3_close};
  int calls = 0;
  int64_t first = INT64_MAX, last = INT64_MIN;

  explicit Reader(const std::string& p) : path(p) {
    sqlite3* raw = nullptr;
    int rc = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
    db.reset(raw);
    if (rc != SQLITE_OK) fail(ErrorCode::BadInput, "{}: cannot be opened as SQLite: {}", path, sqlite3_errmsg(raw));
    sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(raw, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, 64 << 20);
    sqlite3_progress_handler(
        raw, kStepsPerCall, [](void* self) { return ++static_cast<Reader*>(self)->calls > kMostCalls ? 1 : 0; }, this);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Statement prepare(const std::string& sql) {
    sqlite3_stmt* raw = nullptr;
    if (sqlite3_prepare_v2(db.get(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) wrong();
    return Statement(raw, sqlite3_finalize);
  }
  [[noreturn]] void wrong() { fail(ErrorCode::BadInput, "{}: SQLite: {}", path, sqlite3_errmsg(db.get())); }

  // Empty when there is no such table.
  std::vector<std::string> columns(const std::string& table) {
    Statement s = prepare("SELECT name FROM pragma_table_info('" + table + "')");
    std::vector<std::string> names;
    int rc = SQLITE_ROW;
    while ((rc = sqlite3_step(s.get())) == SQLITE_ROW)
      if (const unsigned char* name = sqlite3_column_text(s.get(), 0))
        names.emplace_back(reinterpret_cast<const char*>(name));
    if (rc != SQLITE_DONE) wrong();
    return names;
  }

  // Sums of one table; `name_sql` is an expression over k (and s, the joined StringIds).
  void sums(const std::string& table, const std::string& join, const std::string& name_sql, const std::string& op,
            Trace& t) {
    std::vector<std::string> have = columns(table);
    if (have.empty()) return;
    for (const char* needed : {"start", "end"})
      if (std::find(have.begin(), have.end(), needed) == have.end())
        fail(ErrorCode::BadInput, "{}: table {} has no column \"{}\"", path, table, needed);
    Statement s =
        prepare(fmt::format("SELECT {}, COUNT(*), SUM(k.\"end\" - k.start), MIN(k.start), MAX(k.\"end\") FROM {} k {} "
                            "WHERE k.\"end\" >= k.start GROUP BY 1",
                            name_sql, table, join));
    int rc = SQLITE_ROW;
    while ((rc = sqlite3_step(s.get())) == SQLITE_ROW) {
      const unsigned char* name = sqlite3_column_text(s.get(), 0);
      t.add(name ? reinterpret_cast<const char*>(name) : "(no name)", op,
            static_cast<uint64_t>(sqlite3_column_int64(s.get(), 1)), sqlite3_column_double(s.get(), 2) / 1e6, 0);
      first = std::min<int64_t>(first, sqlite3_column_int64(s.get(), 3));
      last = std::max<int64_t>(last, sqlite3_column_int64(s.get(), 4));
    }
    if (rc != SQLITE_DONE) wrong();
  }
};

}  // namespace

Trace read_nsight_trace(const std::string& path) {
  Reader r(path);
  Trace t{.format = "nsight"};
  std::vector<std::string> kernel = r.columns("CUPTI_ACTIVITY_KIND_KERNEL");
  if (kernel.empty())
    fail(ErrorCode::BadInput,
         "{}: no table CUPTI_ACTIVITY_KIND_KERNEL: no Nsight Systems export with CUDA kernels (record with "
         "--trace=cuda, export with --type sqlite)",
         path);
  std::string name;
  for (const char* column : {"shortName", "demangledName", "mangledName"})
    if (name.empty() && std::find(kernel.begin(), kernel.end(), column) != kernel.end()) name = column;
  bool strings = !r.columns("StringIds").empty();
  if (name.empty() || !strings)
    fail(ErrorCode::BadInput, "{}: kernels without names (no shortName, or no table StringIds)", path);
  r.sums("CUPTI_ACTIVITY_KIND_KERNEL", "LEFT JOIN StringIds s ON s.id = k." + name, "s.value", "", t);
  r.sums("CUPTI_ACTIVITY_KIND_MEMCPY", "", "'memcpy'", "memcpy", t);
  r.sums("CUPTI_ACTIVITY_KIND_MEMSET", "", "'memset'", "memset", t);
  size_t before = t.ops.size();
  r.sums("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "", "'whole graph'", "graph", t);
  if (t.ops.size() > before)
    t.notes.push_back("graphs were recorded as a whole: record with --cuda-graph-trace=node to see their kernels");
  if (t.ops.empty()) fail(ErrorCode::BadInput, "{}: no kernel was recorded", path);
  __int128 span = static_cast<__int128>(r.last) - r.first;
  if (span > 0) t.wall_ms = static_cast<double>(span) / 1e6;
  return t;
}

}  // namespace tally::lab
