// Readers of traces: each format by a small example, nesting, categories, damaged files.
#include "lab/trace.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>

#include "base/error.h"
#include "ledger/ledger.h"
#include "support.h"

namespace tally::lab {
namespace {

const TraceOp& op(const Trace& t, const std::string& name) {
  for (const TraceOp& o : t.ops)
    if (o.name == name) return o;
  ADD_FAILURE() << "no operation " << name;
  static const TraceOp none;
  return none;
}

std::string write(const test::TemporaryFolder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.file(name), std::ios::binary) << text;
  return folder.file(name);
}

TEST(Traces, chrome_counts_nested_time_once) {
  Trace t = read_chrome_trace(R"({"traceEvents": [
    {"ph": "M", "name": "thread_name"},
    {"ph": "X", "pid": 1, "tid": 1, "name": "outer", "ts": 0, "dur": 1000},
    {"ph": "X", "pid": 1, "tid": 1, "name": "inner", "ts": 100, "dur": 300, "args": {"bytes": 64}},
    {"ph": "X", "pid": 1, "tid": 1, "name": "inner", "ts": 400, "dur": 100, "args": {"bytes": 64}},
    {"ph": "B", "pid": 1, "tid": 2, "name": "pair", "ts": 2000}, {"ph": "E", "pid": 1, "tid": 2, "ts": 2500},
    {"ph": "X", "pid": 1, "tid": 3, "name": "unattributed", "cat": "unattributed", "ts": 0, "dur": 3000}]})",
                              "x");
  EXPECT_DOUBLE_EQ(op(t, "outer").ms, 0.6);
  EXPECT_DOUBLE_EQ(op(t, "inner").ms, 0.4);
  EXPECT_EQ(op(t, "inner").calls, 2u);
  EXPECT_EQ(op(t, "inner").bytes, 128);
  EXPECT_DOUBLE_EQ(op(t, "pair").ms, 0.5);
  EXPECT_EQ(t.ops.size(), 3u);
  EXPECT_DOUBLE_EQ(t.wall_ms, 3.0);
}

TEST(Traces, with_kernels_the_host_does_not_count) {
  Trace t = read_chrome_trace(R"([{"ph": "X", "name": "launch", "cat": "cpu_op", "ts": 0, "dur": 9},
    {"ph": "X", "name": "gemm", "cat": "kernel", "ts": 5, "dur": 5, "tid": 7}])",
                              "x");
  ASSERT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.ops[0].name, "gemm");
}

TEST(Traces, chrome_refuses_what_is_damaged) {
  EXPECT_THROW(read_chrome_trace("{\"a\": 1}", "x"), Error);
  EXPECT_THROW(read_chrome_trace("[{\"ph\": \"X\"", "x"), Error);
  EXPECT_THROW(read_chrome_trace(R"([{"ph": "X", "name": "a", "ts": "late", "dur": 1}])", "x"), Error);
  EXPECT_THROW(read_chrome_trace(R"([{"ph": "X", "name": "a", "ts": 1, "dur": -1}])", "x"), Error);
  EXPECT_THROW(read_chrome_trace(std::string(100000, '['), "x"), Error);
}

TEST(Traces, ledger) {
  test::TemporaryFolder folder;
  {
    ledger::Ledger l;
    l.open_file(folder.file("l"), "{}");
    const ledger::StepInfo steps[] = {{.kernel = "k", .op = "linear", .segment = "head"},
                                      {.kernel = "k", .op = "route", .segment = "router"}};
    uint32_t plan = l.add_plan("p", "", steps);
    std::vector<ledger::Dispatch> d(2);
    d[0] = {.begin_ns = 1000, .end_ns = 3000, .plan = plan, .step = 0, .bytes = 10};
    d[1] = {.begin_ns = 3000, .end_ns = 4000, .plan = plan, .step = 1};
    l.add_run(plan, 1000, 4000, 1, d);
    l.add_run(plan, 5000, 8000, 1, d);
  }
  Trace t = read_trace(folder.file("l"));
  EXPECT_DOUBLE_EQ(op(t, "head").ms, 0.004);
  EXPECT_EQ(op(t, "head").op, "linear");
  EXPECT_EQ(op(t, "router").calls, 2u);
  std::string bytes = [&] {
    auto b = test::read_file(folder.file("l"));
    return std::string(b.begin(), b.end());
  }();
  EXPECT_THROW(read_trace(write(folder, "cut", bytes.substr(0, bytes.size() - 5))), Error);
  bytes[bytes.size() - 56 + 20] = 99;  // a step that is not there
  EXPECT_THROW(read_trace(write(folder, "step", bytes)), Error);
}

void sql(sqlite3* db, const char* statements) {
  char* message = nullptr;
  ASSERT_EQ(sqlite3_exec(db, statements, nullptr, nullptr, &message), SQLITE_OK) << message;
}

std::string database(const test::TemporaryFolder& folder, const std::string& name, const char* statements) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(folder.file(name).c_str(), &db), SQLITE_OK);
  sql(db, statements);
  sqlite3_close(db);
  return folder.file(name);
}

TEST(Traces, nsight_sqlite) {
  test::TemporaryFolder folder;
  std::string path = database(folder, "a.sqlite", R"(
    CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
    INSERT INTO StringIds VALUES (1, 'mul_mat_q4_K'), (2, 'flash_attn_ext');
    CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, "end" INT, shortName INT, demangledName INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000000, 3000000, 1, 1), (3000000, 4000000, 2, 2), (4000000, 6000000, 1, 1);
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INT, "end" INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (6000000, 6500000);)");
  Trace t = read_trace(path);
  EXPECT_EQ(t.format, "nsight");
  EXPECT_DOUBLE_EQ(op(t, "mul_mat_q4_K").ms, 4);
  EXPECT_EQ(op(t, "mul_mat_q4_K").calls, 2u);
  EXPECT_DOUBLE_EQ(op(t, "memcpy").ms, 0.5);
  EXPECT_DOUBLE_EQ(t.wall_ms, 5.5);
}

TEST(Traces, nsight_refuses) {
  test::TemporaryFolder folder;
  EXPECT_THROW(read_trace(database(folder, "none", "CREATE TABLE t (a);")), Error);
  EXPECT_THROW(
      read_trace(database(folder, "names", "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, \"end\" INT);")),
      Error);
  EXPECT_THROW(read_trace(write(folder, "junk", std::string("SQLite format 3\0", 16) + std::string(500, 'x'))), Error);
}

TEST(Traces, vulkan_log) {
  Trace t = read_vulkan_log(
      "load\n----------------\nVulkan Timings:\nMUL_MAT q4_0 m=4096 n=1 k=4096: 24 x 13.5 us = 324 us (2485 GFLOPS/s)\n"
      "ROPE: 2 x 5 us = 10 us\nTotal time: 334 us.\n",
      "x");
  EXPECT_DOUBLE_EQ(op(t, "MUL_MAT q4_0 m=4096 n=1 k=4096").ms, 0.324);
  EXPECT_EQ(op(t, "ROPE").calls, 2u);
  EXPECT_EQ(t.ops.size(), 2u);
  EXPECT_THROW(read_vulkan_log("Vulkan Timings:\nnothing\n", "x"), Error);
}

TEST(Traces, backend_ops_console_and_sql) {
  Trace t = read_backend_ops(
      "Backend 1/1: CPU\n  MUL_MAT(type_a=q4_0,m=4096,n=1,k=14336):     852 runs -  1250.00 us/run - "
      "117.44 MFLOP/run - \033[1;34m 93.95 GFLOPS\033[0m\n  ADD(x): not supported\n",
      "x");
  EXPECT_TRUE(t.standalone);
  ASSERT_EQ(t.ops.size(), 1u);
  EXPECT_DOUBLE_EQ(t.ops[0].ms, 1.25);
  EXPECT_EQ(t.ops[0].op, "MUL_MAT");
  Trace s = read_backend_ops(
      "INSERT INTO test_backend_ops (test_time, op_name, op_params, time_us) VALUES ('now', 'ADD', 'ne=[1, 2]', "
      "'3.5');\n",
      "x");
  EXPECT_DOUBLE_EQ(op(s, "ADD(ne=[1, 2])").ms, 0.0035);
  EXPECT_THROW(read_backend_ops("INSERT INTO test_backend_ops (", "x"), Error);
}

TEST(Traces, csv_by_the_unit_in_its_header) {
  Trace t = read_csv_trace(
      "op name, kernel name, exec duration (ms), global size\nMUL_MAT,kernel_a,1.5,1x1x1\nMUL_MAT,kernel_a,0.5,1x1x1\n",
      "x");
  EXPECT_DOUBLE_EQ(op(t, "kernel_a").ms, 2);
  EXPECT_EQ(op(t, "kernel_a").op, "MUL_MAT");
  Trace n = read_csv_trace(
      "Time (%),Total Time (ns),Instances,Avg (ns),Name\n90,2000000,4,500000,\"gemm<1, \"\"x\"\">\"\n", "x");
  EXPECT_DOUBLE_EQ(op(n, "gemm<1, \"x\">").ms, 2);
  EXPECT_EQ(n.ops[0].calls, 4u);
  EXPECT_THROW(read_csv_trace("a,b\n1,2\n", "x"), Error);
  EXPECT_THROW(read_csv_trace("name,time_us\nx,soon\n", "x"), Error);
}

TEST(Traces, llama_bench_gives_the_wall_time) {
  const char* text =
      R"([{"n_prompt": 512, "n_gen": 0, "avg_ns": 2000000}, {"n_prompt": 0, "n_gen": 128, "avg_ns": 5000000}])";
  EXPECT_DOUBLE_EQ(read_llama_bench(text, "x", "tg128").wall_ms, 5);
  EXPECT_THROW(read_llama_bench(text, "x", ""), Error);
  EXPECT_THROW(read_llama_bench(text, "x", "pp7"), Error);
}

TEST(Traces, told_apart_by_content) {
  test::TemporaryFolder folder;
  EXPECT_THROW(read_trace(folder.file("absent")), Error);
  EXPECT_THROW(read_trace(write(folder, "empty", "  \n")), Error);
  EXPECT_THROW(read_trace(write(folder, "prose", "once upon a time\n")), Error);
  EXPECT_EQ(read_trace(write(folder, "c", "name,time_us,calls\nx,1,1\n")).format, "csv");
  EXPECT_EQ(read_trace(write(folder, "j", R"([{"ph": "X", "name": "a", "ts": 1, "dur": 1}])")).format, "chrome");
}

TEST(TraceCategories, engines_meet) {
  Categories c;
  EXPECT_EQ(c.of({"qkv (attention)", "linear"}), "matrix products");  // the kind of operation before the name
  EXPECT_EQ(c.of({"attention", "attention"}), "attention");
  EXPECT_EQ(c.of({"void flash_attn_ext_f16<128>", ""}), "attention");
  EXPECT_EQ(c.of({"MUL_MAT q4_0", "MUL_MAT"}), "matrix products");
  EXPECT_EQ(c.of({"MUL_MAT_ID q4_K", "MUL_MAT_ID"}), "experts");
  EXPECT_EQ(c.of({"quantize_q8_1", ""}), "activation formats");
  EXPECT_EQ(c.of({"zzz", ""}), "other");
  c.add_text("# mine\nzzz = mysteries\nFLASH=fast attention\n", "file");
  EXPECT_EQ(c.of({"ZZZ", ""}), "mysteries");
  EXPECT_EQ(c.of({"flash_attn", ""}), "fast attention");
  EXPECT_THROW(c.add_text("no equals sign\n", "file"), Error);
}

}  // namespace
}  // namespace tally::lab
