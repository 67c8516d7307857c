#include "ledger/ledger.h"

#include <cstring>

#include "base/error.h"

namespace tally::ledger {

namespace {

// File: "TLEDGER1", then records: u32 tag, u32 size, bytes. Tags: 1 head (JSON), 2 plan (JSON), 3 a run of Dispatch.
constexpr char kMagic[8] = {'T', 'L', 'E', 'D', 'G', 'E', 'R', '1'};
enum Tag : uint32_t { kHead = 1, kPlan = 2, kRun = 3 };

void write_record(std::FILE* file, uint32_t tag, const void* data, size_t size) {
  uint32_t head[2] = {tag, static_cast<uint32_t>(size)};
  std::fwrite(head, sizeof head, 1, file);
  std::fwrite(data, 1, size, file);
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += ' ';
    else
      out += c;
  }
  return out + "\"";
}

std::string plan_json(size_t number, const PlanRecord& plan) {
  std::string out = fmt::format("{{\"plan\":{},\"name\":{},\"steps\":[", number, quoted(plan.name));
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const StepInfo& s = plan.steps[i];
    out += fmt::format(
        "{}{{\"kernel\":{},\"op\":{},\"segment\":{},\"layer\":{},\"first_op\":{},\"n_ops\":{},\"shape\":{}}}",
        i ? "," : "", quoted(s.kernel), quoted(s.op), quoted(s.segment), s.layer, s.first_op, s.n_ops, quoted(s.shape));
  }
  return out + "]}";
}

}  // namespace

Ledger::Ledger(size_t ring_size) : ring_(ring_size) {}

Ledger::~Ledger() {
  if (file_) std::fclose(file_);
}

void Ledger::open_file(const std::string& path, const std::string& provenance_json) {
  file_ = std::fopen(path.c_str(), "wb");
  if (!file_) fail(ErrorCode::BadInput, "{}: cannot create the ledger file: {}", path, std::strerror(errno));
  std::fwrite(kMagic, sizeof kMagic, 1, file_);
  write_record(file_, kHead, provenance_json.data(), provenance_json.size());
  for (size_t i = 0; i < plans_.size(); ++i) {
    std::string json = plan_json(i, plans_[i]);
    write_record(file_, kPlan, json.data(), json.size());
  }
}

uint32_t Ledger::add_plan(const std::string& name, const std::string& text, std::span<const StepInfo> steps) {
  plans_.push_back({name, text, {steps.begin(), steps.end()}, std::vector<StepTotal>(steps.size()), 0, 0, 0, 0});
  if (file_) {
    std::string json = plan_json(plans_.size() - 1, plans_.back());
    write_record(file_, kPlan, json.data(), json.size());
  }
  return static_cast<uint32_t>(plans_.size() - 1);
}

void Ledger::add_run(uint32_t plan, uint64_t begin_ns, uint64_t end_ns, uint32_t rows,
                     std::span<const Dispatch> dispatches) {
  PlanRecord& record = plans_[plan];
  ++record.n_runs;
  ++record.n_timed;
  record.n_rows += rows;
  record.run_ns += end_ns - begin_ns;
  for (const Dispatch& d : dispatches) {
    StepTotal& total = record.totals[d.step];
    ++total.n;
    total.ns += d.end_ns - d.begin_ns;
    total.bytes += d.bytes;
    total.flops += d.flops;
    ring_[ring_next_] = d;
    ring_[ring_next_].batch = n_batches_;
    ring_next_ = (ring_next_ + 1) % ring_.size();
    if (ring_used_ < ring_.size()) ++ring_used_;
  }
  n_dispatches_ += dispatches.size();
  if (file_) write_run(dispatches);
  if (keep_most_ > 0) keep_run(dispatches);
  ++n_batches_;
}

void Ledger::add_untimed_run(uint32_t plan, uint64_t begin_ns, uint64_t end_ns, uint32_t rows) {
  PlanRecord& record = plans_[plan];
  ++record.n_runs;
  record.n_rows += rows;
  record.run_ns += end_ns - begin_ns;
  n_dispatches_ += record.steps.size();
  ++n_batches_;
}

void Ledger::keep_run(std::span<const Dispatch> dispatches) {
  for (Dispatch d : dispatches) {
    if (kept_.size() == keep_most_) {
      ++n_not_kept_;
      continue;
    }
    d.batch = n_batches_;
    kept_.push_back(d);
  }
}

void Ledger::write_run(std::span<const Dispatch> dispatches) {
  const uint32_t head[2] = {kRun, static_cast<uint32_t>(dispatches.size_bytes())};
  std::fwrite(head, sizeof head, 1, file_);
  for (Dispatch d : dispatches) {
    d.batch = n_batches_;
    std::fwrite(&d, sizeof d, 1, file_);
  }
  if (std::ferror(file_))
    fail(ErrorCode::Resources, "the ledger file cannot be written: {}; is the disk full?", std::strerror(errno));
}

std::vector<Dispatch> Ledger::recent() const {
  std::vector<Dispatch> out;
  size_t first = (ring_next_ + ring_.size() - ring_used_) % ring_.size();
  for (size_t i = 0; i < ring_used_; ++i) out.push_back(ring_[(first + i) % ring_.size()]);
  return out;
}

void Ledger::reset_totals() {
  for (PlanRecord& p : plans_) {
    p.totals.assign(p.totals.size(), {});
    p.n_runs = p.n_rows = p.run_ns = p.n_timed = 0;
  }
  n_dispatches_ = 0;
  ring_used_ = ring_next_ = 0;
}

LedgerFile read_ledger(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (!file) fail(ErrorCode::BadInput, "{}: cannot open the ledger file: {}", path, std::strerror(errno));
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> closer(file, std::fclose);
  std::fseek(file, 0, SEEK_END);
  uint64_t size = static_cast<uint64_t>(std::ftell(file)), at = sizeof kMagic;
  std::rewind(file);
  char magic[sizeof kMagic];
  if (std::fread(magic, sizeof magic, 1, file) != 1 || std::memcmp(magic, kMagic, sizeof kMagic) != 0)
    fail(ErrorCode::BadInput, "{}: not a ledger file (it does not begin with TLEDGER1)", path);
  LedgerFile out;
  uint32_t head[2];
  while (std::fread(head, sizeof head, 1, file) == 1) {
    at += sizeof head;
    if (head[1] > size - at)
      fail(ErrorCode::BadInput, "{}: damaged: a record at byte {} claims {} bytes, {} are left", path, at, head[1],
           size - at);
    std::string bytes(head[1], '\0');
    if (std::fread(bytes.data(), 1, bytes.size(), file) != bytes.size())
      fail(ErrorCode::BadInput, "{}: cannot be read at byte {}", path, at);
    at += head[1];
    if (head[0] == kHead)
      out.head_json = bytes;
    else if (head[0] == kPlan)
      out.plan_json.push_back(bytes);
    else if (head[0] == kRun) {
      if (bytes.size() % sizeof(Dispatch))
        fail(ErrorCode::BadInput, "{}: damaged: a run of {} bytes is not made of {}-byte dispatches", path,
             bytes.size(), sizeof(Dispatch));
      size_t n = bytes.size() / sizeof(Dispatch), first = out.dispatches.size();
      out.dispatches.resize(first + n);
      if (n > 0) std::memcpy(&out.dispatches[first], bytes.data(), bytes.size());
    } else
      fail(ErrorCode::BadInput, "{}: damaged: unknown record {} at byte {}", path, head[0], at);
  }
  return out;
}

}  // namespace tally::ledger
