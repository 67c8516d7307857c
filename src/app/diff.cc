#include "app/diff.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "models/registry.h"
#include "models/weights.h"

namespace tally::app {

namespace {

using Key = std::pair<int, int>;  // op, value

class Recorder : public backend::Observer {
 public:
  void after_op(int op, ops::Value value, std::span<float> values) override {
    rows[{op, value.id}].assign(values.begin(), values.end());
  }
  std::map<Key, std::vector<float>> rows;
};

// One device's way through the batch.
struct Side {
  std::unique_ptr<backend::Backend> backend;
  std::unique_ptr<backend::State> state;
  std::unique_ptr<backend::Plan> plan;
};

Side make_side(const std::string& device, const ops::Program& p, const ops::Weights& w, const ops::Batch& b,
               const DiffOptions& o) {
  Side s;
  s.backend = backend::make_backend(device, {o.engine.n_threads, o.engine.isa, nullptr});
  s.state = s.backend->make_state(p, {1, b.max_pages, o.engine.exact});
  s.state->clear_slot(0);
  s.plan = s.backend->compile(
      p, w, *s.state, {b.n_tokens, b.n_outputs, o.engine.exact, device == "cpu" ? o.engine.forced_kernels : ""});
  return s;
}

ops::Batch one_segment(std::span<const int32_t> tokens) {
  ops::Batch b;
  b.n_tokens = b.n_outputs = static_cast<int>(tokens.size());
  b.n_segments = 1;
  b.tokens.assign(tokens.begin(), tokens.end());
  b.positions.resize(b.n_tokens);
  std::iota(b.positions.begin(), b.positions.end(), 0);
  b.segment_start = {0, b.n_tokens};
  b.slot = {0};
  b.context_len = {0};
  b.max_pages = (b.n_tokens + ops::kPageTokens - 1) / ops::kPageTokens;
  b.page_table.resize(b.max_pages);
  std::iota(b.page_table.begin(), b.page_table.end(), 0);
  b.output_row = b.positions;
  return b;
}

// Relative error that a kernel may add (fed with the same inputs) or have gathered (not fed).
double allowance(const std::string& kernel, const std::string& kind, bool fed, int depth) {
  double own = kernel_allowance(kernel);
  if (fed) return own;
  if (kind == ops::Route::kName) return 10;  // a near tie may fall the other way; what matters is what comes of it
  return std::max(own, 0.06) * (1 + 0.25 * depth);
}

DiffRow compare(const std::vector<float>& a, std::span<const float> b) {
  DiffRow row;
  double error = 0, norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double d = double(b[i]) - a[i];
    error += d * d;
    norm += double(a[i]) * a[i];
    row.max_abs = std::max(row.max_abs, std::abs(d));
    if (!std::isfinite(b[i])) error = INFINITY, row.max_abs = INFINITY;
  }
  row.error = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  return row;
}

class Comparer : public backend::Observer {
 public:
  Comparer(const Recorder& a, const ops::Program& p, const backend::Plan& plan, const DiffOptions& o)
      : a_(a), program_(p), options_(o) {
    kernels_.resize(p.ops.size());
    for (const ledger::StepInfo& s : plan.steps())
      for (int i = 0; i < s.n_ops; ++i) kernels_[s.first_op + i] = s.kernel;
  }
  void after_op(int op, ops::Value value, std::span<float> values) override {
    auto found = a_.rows.find({op, value.id});
    if (found == a_.rows.end() || found->second.size() != values.size()) return;
    std::string kind(ops::name_of(program_.ops[op]));
    int layer = program_.op_layer[op];
    if ((options_.layer < 0 || options_.layer == layer) && (options_.op.empty() || options_.op == kind)) {
      DiffRow row = compare(found->second, values);
      row.op = op, row.layer = layer, row.kind = kind, row.value = program_.info(value).name, row.kernel = kernels_[op];
      row.allowed = allowance(row.kernel, kind, options_.feed,
                              layer >= 0 ? layer + 1
                              : op == 0  ? 0
                                         : program_.n_layers);
      rows.push_back(row);
    }
    if (options_.feed) std::copy(found->second.begin(), found->second.end(), values.begin());
  }
  std::vector<DiffRow> rows;

 private:
  const Recorder& a_;
  const ops::Program& program_;
  const DiffOptions& options_;
  std::vector<std::string> kernels_;
};

}  // namespace

double kernel_allowance(const std::string& kernel) {
  if (kernel.find("_q8") != std::string::npos) return 0.06;
  return kernel.find("_f16") != std::string::npos ? 2e-3 : 1e-4;
}

std::vector<DiffRow> diff(const gguf::File& file, std::span<const int32_t> tokens, const DiffOptions& o) {
  ops::Program program = models::build_program(models::source_of(file));
  ops::Weights weights = models::bind_weights(program, file);
  if (tokens.empty()) fail(ErrorCode::Usage, "no tokens to compare on");
  for (int32_t t : tokens)
    if (t < 0 || t >= program.vocab_size)
      fail(ErrorCode::BadInput, "token id {} is outside the vocabulary of {} tokens", t, program.vocab_size);
  ops::Batch batch = one_segment(tokens);
  Recorder recorder;
  {
    Side a = make_side(o.device_a, program, weights, batch, o);
    a.backend->run(*a.plan, batch, &recorder);
  }
  Side b = make_side(o.device_b, program, weights, batch, o);
  Comparer comparer(recorder, program, *b.plan, o);
  b.backend->run(*b.plan, batch, &comparer);
  return comparer.rows;
}

}  // namespace tally::app
