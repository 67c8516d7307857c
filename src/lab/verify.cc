#include "lab/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "app/diff.h"
#include "backend/backend.h"
#include "base/check.h"
#include "base/error.h"
#include "base/rng.h"
#include "models/registry.h"
#include "models/weights.h"
#include "ops/cost.h"
#include "ops/fields.h"

namespace tally::lab {

namespace {

constexpr int kFaultEvery = 8;  // one row in so many carries the fault
constexpr double kElement = 4;  // an element may be so many times further off than the rms of all
constexpr double kShareFound = 0.01;
constexpr uint64_t kFaultSeed = 0xfa17;

bool has_fault(int row, int n_rows) { return n_rows == 1 || row % kFaultEvery == std::min(n_rows, kFaultEvery) / 2; }

using Key = std::pair<int, int>;  // op, value
using Recorded = std::map<Key, std::vector<float>>;

class Recorder : public backend::Observer {
 public:
  void after_op(int op, ops::Value value, std::span<float> values) override {
    rows[{op, value.id}].assign(values.begin(), values.end());
  }
  Recorded rows;
};

double rms(std::span<const float> x) {
  double sum = 0;
  for (float v : x) sum += double(v) * v;
  return x.empty() ? 0 : std::sqrt(sum / double(x.size()));
}

ops::Batch batch_at(std::span<const int32_t> tokens, int first, int n, int n_pages, bool fault, int vocab) {
  ops::Batch b = ops::single_segment(n, first, n);
  for (int i = 0; i < n; ++i) b.tokens[i] = tokens[first + i];
  if (fault)
    for (int i = 0; i < n; ++i)
      if (has_fault(i, n)) b.tokens[i] = (b.tokens[i] + 1) % vocab;
  b.max_pages = n_pages;
  b.page_table.resize(n_pages);
  std::iota(b.page_table.begin(), b.page_table.end(), 0);
  return b;
}

// Compares what a plan's steps leave behind with the reference's rows, and hands every step the reference's inputs,
// raised in the faulty rows when `fault` is not 0.
class Feeder : public backend::Observer {
 public:
  struct Count {
    def::GateCount gate;
    std::string kernel;
  };
  Feeder(const Recorded& reference, const ops::Program& p, const backend::Plan& plan, const VerifyOptions& o,
         double fault)
      : reference_(reference), program_(p), options_(o), fault_(fault), step_of_(p.ops.size()), steps_(plan.steps()) {
    for (size_t s = 0; s < steps_.size(); ++s)
      for (int i = 0; i < steps_[s].n_ops; ++i) step_of_[steps_[s].first_op + i] = int(s);
  }
  void begin(int first_row, int n_rows) {
    first_row_ = first_row, n_rows_ = n_rows;
    before_reference_.clear(), before_fed_.clear();
  }
  void after_op(int op, ops::Value v, std::span<float> values) override {
    const ledger::StepInfo& step = steps_[step_of_[op]];
    bool goes_on = false;  // a later op of this step writes the value again
    for (int later = op + 1; later < step.first_op + step.n_ops; ++later)
      ops::values_of(program_.ops[later], [&](ops::Value w, bool is_output) { goes_on |= is_output && w.id == v.id; });
    if (goes_on) return;
    auto found = reference_.find({op, v.id});
    if (found == reference_.end()) return;
    size_t cols = size_t(program_.info(v).cols);
    CHECK(values.size() == cols * size_t(n_rows_) && found->second.size() >= (first_row_ + n_rows_) * cols);
    std::span<const float> want(&found->second[size_t(first_row_) * cols], values.size());
    compare(op, v, want, values, ops::accumulates(program_.ops[op]));
    feed(v, want, values, int(cols));
  }
  std::map<int, Count> counts;  // by op

 private:
  void compare(int op, ops::Value v, std::span<const float> want, std::span<const float> got, bool added) {
    auto was = before_reference_.find(v.id);
    bool delta = added && was != before_reference_.end();
    std::vector<float> x(got.begin(), got.end());
    std::vector<double> reference(want.begin(), want.end());
    if (delta)
      for (size_t i = 0; i < x.size(); ++i) {
        reference[i] -= was->second[i];
        x[i] = float(double(got[i]) - before_fed_[v.id][i]);
      }
    Count& count = counts[op];
    count.kernel = steps_[step_of_[op]].kernel;
    double allowed = kElement * app::kernel_allowance(count.kernel) * options_.tolerance_scale;
    size_t cols = size_t(program_.info(v).cols);
    for (size_t at = 0; at < x.size(); at += cols) {  // each row is held to its own size
      double sum = 0, largest = 0;
      for (size_t i = at; i < at + cols; ++i) {
        sum += reference[i] * reference[i];
        largest = std::max(largest, std::abs(double(want[i])));
      }
      // What was added to large values is known only to their rounding: two float32 roundings on either side.
      double rounding = delta ? 2.4e-7 * options_.tolerance_scale * largest : 0;
      double absolute = allowed * std::sqrt(sum / double(cols)) + rounding + 1e-30;
      def::GateCount c = def::count_out({&x[at], cols}, {&reference[at], cols}, absolute, allowed);
      count.gate.n += c.n, count.gate.out += c.out;
      count.gate.max_error = std::max(count.gate.max_error, c.max_error / absolute);
    }
  }

  void feed(ops::Value v, std::span<const float> want, std::span<float> values, int cols) {
    std::copy(want.begin(), want.end(), values.begin());
    for (int r = 0; fault_ != 0 && !is_choice(v) && r < n_rows_; ++r) {
      if (!has_fault(r, n_rows_)) continue;
      std::span<float> row = values.subspan(size_t(r) * cols, cols);
      float size = float(fault_ * rms(row));
      for (int i = 0; i < cols; ++i) row[i] += random_u64(kFaultSeed, uint64_t(i)) & 1 ? size : -size;
    }
    before_reference_[v.id].assign(want.begin(), want.end());
    before_fed_[v.id].assign(values.begin(), values.end());
  }

  // Ids of experts are not numbers that could be a little off.
  bool is_choice(ops::Value v) const {
    for (const ops::Op& op : program_.ops)
      if (const auto* route = std::get_if<ops::Route>(&op))
        if (route->out.id == v.id) return true;
    return false;
  }

  const Recorded& reference_;
  const ops::Program& program_;
  const VerifyOptions& options_;
  double fault_;
  int first_row_ = 0, n_rows_ = 0;
  std::vector<int> step_of_;
  std::span<const ledger::StepInfo> steps_;
  std::map<int, std::vector<float>> before_reference_, before_fed_;  // of a value, as the last step left it
};

struct Model {
  const gguf::File& file;
  const runtime::EngineOptions& engine;
  const VerifyOptions& options;
  ops::Program program;
  ops::Weights weights;
  std::vector<int32_t> tokens;
  int n_pages = 1;
};

// All tokens through the plan for `rows` rows, in as many steps as that takes.
std::map<int, Feeder::Count> run_plan(const Model& m, const Recorded& reference, int rows, double fault,
                                      std::set<std::string>* kernels) {
  auto backend = backend::make_backend(m.engine.device, {m.engine.n_threads, m.engine.isa, nullptr});
  auto state = backend->make_state(m.program, {1, m.n_pages, m.engine.exact});
  state->clear_slot(0);
  auto plan = backend->compile(m.program, m.weights, *state, {rows, rows, m.engine.exact, m.engine.forced_kernels, {}});
  for (const ledger::StepInfo& s : plan->steps()) kernels->insert(s.kernel);
  Feeder feeder(reference, m.program, *plan, m.options, fault);
  int n = int(m.tokens.size());
  for (int at = 0; at < n; at += rows) {
    int count = std::min(rows, n - at);
    feeder.begin(at, count);
    backend->run(*plan, batch_at(m.tokens, at, count, m.n_pages, fault != 0, m.program.vocab_size), &feeder);
  }
  return feeder.counts;
}

void add_plan(const Model& m, int rows, const std::map<int, Feeder::Count>& clean,
              const std::map<int, Feeder::Count>& faulty, Verified& v) {
  std::map<std::string, VerifiedOps> kinds;
  std::map<std::string, std::set<std::string>> kernels;
  for (const auto& [op, c] : clean) {
    std::string kind(ops::name_of(m.program.ops[op]));
    VerifiedOps& k = kinds[kind];
    const def::GateCount& f = faulty.at(op).gate;
    kernels[kind].insert(c.kernel);
    k.op = kind, k.plan_rows = rows, ++k.n_ops;
    k.clean.n += c.gate.n, k.clean.out += c.gate.out;
    k.clean.max_error = std::max(k.clean.max_error, c.gate.max_error);
    k.faulty.n += f.n, k.faulty.out += f.out;
    k.faulty.max_error = std::max(k.faulty.max_error, f.max_error);
    k.n_failed += c.gate.out > 0;
    k.n_blind += double(f.out) < kShareFound * double(f.n);
  }
  for (auto& [kind, k] : kinds) {
    for (const std::string& name : kernels[kind]) k.kernels += (k.kernels.empty() ? "" : ", ") + name;
    v.ops.push_back(k);
  }
}

// Logits of every token, by the engine itself.
std::vector<float> engine_logits(const Model& m, int chunk, bool fault, std::set<std::string>* kernels) {
  ledger::Ledger ledger;
  runtime::EngineOptions o = m.engine;
  o.ledger = &ledger, o.chunk = chunk, o.n_sequences = 1, o.n_draft = 0, o.with_mtp = false;
  o.context_length = std::max<int>(int(m.tokens.size()), 64);
  runtime::Engine engine(m.file, o);
  std::vector<int32_t> tokens = m.tokens;
  if (fault)
    for (size_t i = 0; i < tokens.size(); ++i)
      if (has_fault(int(i), int(tokens.size()))) tokens[i] = (tokens[i] + 1) % m.program.vocab_size;
  std::vector<int> wanted(tokens.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  std::vector<float> out;
  runtime::Sequence s = engine.open();
  engine.consume(s, tokens, wanted,
                 [&](int, std::span<const float> row) { out.insert(out.end(), row.begin(), row.end()); });
  for (const ledger::PlanRecord& plan : ledger.plans())
    for (const ledger::StepInfo& step : plan.steps) kernels->insert(step.kernel);
  return out;
}

// Row by row, without each row's mean, which says nothing about which token is likelier.
def::GateCount compare_logits(const Model& m, const std::vector<float>& got, const std::vector<float>& want,
                              double allowed) {
  def::GateCount out;
  size_t cols = size_t(m.program.vocab_size);
  CHECK(got.size() == want.size() && want.size() % cols == 0);
  for (size_t at = 0; at < want.size(); at += cols) {
    std::vector<float> x(got.begin() + at, got.begin() + at + cols);
    std::vector<double> r(want.begin() + at, want.begin() + at + cols);
    double mean = std::accumulate(r.begin(), r.end(), 0.0) / double(cols), sum = 0;
    double own = std::accumulate(x.begin(), x.end(), 0.0) / double(cols);
    for (size_t i = 0; i < cols; ++i) r[i] -= mean, x[i] = float(x[i] - own), sum += r[i] * r[i];
    double absolute = allowed * std::sqrt(sum / double(cols)) + 1e-30;
    def::GateCount c = def::count_out(x, r, absolute, allowed);
    out.n += c.n, out.out += c.out;
    out.max_error = std::max(out.max_error, c.max_error / absolute);
  }
  return out;
}

// Hands the reference's choice of experts to a run that is its own otherwise: a near tie may fall either way, and what
// comes of another choice is no error of a kernel. What the kernels choose from exact inputs is verified op by op.
class Chooser : public backend::Observer {
 public:
  Chooser(const Recorded& reference, const ops::Program& p, bool force)
      : reference_(reference), program_(p), force_(force) {}
  void after_op(int op, ops::Value v, std::span<float> values) override {
    if (!force_ || !std::holds_alternative<ops::Route>(program_.ops[op])) return;
    const std::vector<float>& rows = reference_.at({op, v.id});
    std::copy_n(rows.begin() + int64_t(first_row) * program_.info(v).cols, values.size(), values.begin());
  }
  int first_row = 0;

 private:
  const Recorded& reference_;
  const ops::Program& program_;
  bool force_;
};

std::vector<float> plan_logits(const Model& m, const Recorded& reference, int rows, bool force) {
  auto backend = backend::make_backend(m.engine.device, {m.engine.n_threads, m.engine.isa, nullptr});
  auto state = backend->make_state(m.program, {1, m.n_pages, m.engine.exact});
  state->clear_slot(0);
  auto plan = backend->compile(m.program, m.weights, *state, {rows, rows, m.engine.exact, m.engine.forced_kernels, {}});
  Chooser chooser(reference, m.program, force);
  std::vector<float> out;
  int n = int(m.tokens.size());
  for (int at = 0; at < n; at += rows) {
    chooser.first_row = at;
    int count = std::min(rows, n - at);
    backend::StepOutput step =
        backend->run(*plan, batch_at(m.tokens, at, count, m.n_pages, false, m.program.vocab_size), &chooser);
    out.insert(out.end(), step.logits, step.logits + int64_t(count) * m.program.vocab_size);
  }
  return out;
}

void check_model(const Model& m, const Recorded& reference, const std::vector<float>& want,
                 const std::set<std::string>& checked, Verified& v) {
  double own = 0;
  for (const std::string& kernel : checked) own = std::max(own, app::kernel_allowance(kernel));
  double allowed = kElement * own * std::sqrt(1 + 0.25 * m.program.n_layers) * m.options.tolerance_scale;
  bool chooses = std::any_of(m.program.ops.begin(), m.program.ops.end(),
                             [](const ops::Op& op) { return std::holds_alternative<ops::Route>(op); });
  std::set<std::string> dispatched;
  for (int chunk : std::set<int>{m.engine.chunk, 1}) {
    Verified::Model row;
    row.path = chunk == 1 ? "token by token" : fmt::format("prompt in chunks of {}", chunk);
    std::vector<float> got = engine_logits(m, chunk, false, &dispatched);
    if (chooses) {
      // The engine's own run gives the bits of the plan that is looked into.
      row.same_path = got == plan_logits(m, reference, chunk, false);
      got = plan_logits(m, reference, chunk, true);
      row.path += ", experts as the reference chose";
    }
    row.clean = compare_logits(m, got, want, allowed);
    row.faulty =
        m.options.fault == 0 ? row.clean : compare_logits(m, engine_logits(m, chunk, true, &dispatched), want, allowed);
    row.gate = def::gate(row.clean, row.faulty);
    v.model.push_back(row);
  }
  for (const std::string& kernel : dispatched)
    if (!checked.contains(kernel)) v.not_covered.push_back(kernel);
}

}  // namespace

Verified verify(const gguf::File& file, const runtime::EngineOptions& engine, const VerifyOptions& o) {
  if (engine.device == "reference")
    fail(ErrorCode::Usage, "--device reference: nothing is there to hold the reference against");
  Model m{file, engine, o, models::build_program(models::source_of(file)), {}, {}, 1};
  m.weights = models::bind_weights(m.program, file);
  if (o.n_tokens < 2 || o.n_tokens > 4096) fail(ErrorCode::Usage, "--tokens {}: expected 2 to 4096", o.n_tokens);
  for (int i = 0; i < o.n_tokens; ++i)
    m.tokens.push_back(int32_t(random_u64(o.seed, i) % uint64_t(m.program.vocab_size)));
  m.n_pages = (o.n_tokens + ops::kPageTokens - 1) / ops::kPageTokens;
  Recorder reference;
  std::vector<float> logits;
  {
    auto backend = backend::make_backend("reference", {});
    auto state = backend->make_state(m.program, {1, m.n_pages, engine.exact});
    state->clear_slot(0);
    auto plan = backend->compile(m.program, m.weights, *state, {o.n_tokens, o.n_tokens, engine.exact, "", {}});
    ops::Batch b = batch_at(m.tokens, 0, o.n_tokens, m.n_pages, false, m.program.vocab_size);
    backend::StepOutput out = backend->run(*plan, b, &reference);
    logits.assign(out.logits, out.logits + int64_t(o.n_tokens) * m.program.vocab_size);
  }
  Verified v;
  std::set<std::string> checked;
  for (int rows : std::set<int>{1, 8, 64, std::max(engine.chunk, 8)})
    add_plan(m, rows, run_plan(m, reference.rows, rows, 0, &checked),
             run_plan(m, reference.rows, rows, o.fault, &checked), v);
  check_model(m, reference.rows, logits, checked, v);
  v.passed = v.not_covered.empty();
  for (const VerifiedOps& k : v.ops) v.passed = v.passed && k.n_failed == 0 && k.n_blind == 0;
  for (const Verified::Model& row : v.model) v.passed = v.passed && row.gate.passed && row.same_path;
  return v;
}

}  // namespace tally::lab
