#include "app/trace_out.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/error.h"

namespace tally::app {

namespace {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string micros(uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

class Writer {
 public:
  Writer(const std::string& path, const std::string& provenance_json, uint64_t n_not_kept)
      : path_(path), file_(std::fopen(path.c_str(), "wb"), std::fclose) {
    if (!file_) fail(ErrorCode::BadInput, "{}: the trace cannot be created: {}", path, std::strerror(errno));
    put(fmt::format(
        "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"provenance\":{},\"not_kept\":{}}},\"traceEvents\":[\n",
        provenance_json, n_not_kept));
    put(R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"tally"}},)"
        "\n"
        R"({"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"dispatches"}},)"
        "\n"
        R"({"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"unattributed"}})");
  }
  void event(int track, const std::string& name, const std::string& cat, uint64_t at, uint64_t ns,
             const std::string& args) {
    put(fmt::format(
        ",\n{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"name\":{},\"cat\":{},\"ts\":{},\"dur\":{},\"args\":{{{}}}}}", track,
        name, cat, micros(at), micros(ns), args));
  }
  void close() {
    put("\n]}\n");
    if (std::fflush(file_.get()) != 0 || std::ferror(file_.get()))
      fail(ErrorCode::Resources, "{}: the trace cannot be written: {}", path_, std::strerror(errno));
  }

 private:
  void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), file_.get()); }
  std::string path_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

// The parts of an event that are the same for each run of a step.
struct StepTexts {
  std::string name, op, args;
};

std::vector<std::vector<StepTexts>> texts_of(std::span<const ledger::PlanRecord> plans) {
  std::vector<std::vector<StepTexts>> out;
  for (const ledger::PlanRecord& plan : plans) {
    out.emplace_back();
    for (const ledger::StepInfo& s : plan.steps)
      out.back().push_back(
          {quoted(s.segment), quoted(s.op),
           fmt::format("\"kernel\":{},\"shape\":{},\"layer\":{}", quoted(s.kernel), quoted(s.shape), s.layer)});
  }
  return out;
}

}  // namespace

void write_trace(const std::string& path, const ledger::Ledger& ledger, uint64_t begin_ns, uint64_t end_ns,
                 const std::string& provenance_json) {
  Writer out(path, provenance_json, ledger.n_not_kept());
  std::vector<std::vector<StepTexts>> texts = texts_of(ledger.plans());
  uint64_t at = begin_ns, number = 0;
  auto gap = [&](uint64_t until) {
    if (until > at) out.event(2, "\"unattributed\"", "\"unattributed\"", at - begin_ns, until - at, "");
  };
  for (const ledger::Dispatch& d : ledger.kept()) {
    CHECK(d.begin_ns >= at && d.end_ns >= d.begin_ns, "dispatch {} begins before the one before it ends", number);
    gap(d.begin_ns);
    const StepTexts& s = texts[d.plan][d.step];
    out.event(1, s.name, s.op, d.begin_ns - begin_ns, d.end_ns - d.begin_ns,
              fmt::format("{},\"rows\":{},\"bytes\":{},\"flop\":{},\"plan\":{},\"step\":{},\"run\":{},\"dispatch\":{}",
                          s.args, d.rows, d.bytes, d.flops, d.plan, d.step, d.batch, number++));
    at = d.end_ns;
  }
  if (ledger.n_not_kept() == 0) gap(end_ns);
  out.close();
}

}  // namespace tally::app
