#include "backend/cpu/plan.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>

#include "backend/common/components.h"
#include "backend/cpu/steps_generic.h"
#include "base/check.h"
#include "base/checked.h"
#include "base/error.h"
#include "ops/fields.h"
#include "ops/segments.h"

namespace tally::cpu {

namespace {

char* reserve(uint64_t bytes, const char* what) {
  if (bytes == 0) return nullptr;
  void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    fail(ErrorCode::Resources, "no memory for {}: {:.2f} GB; choose a smaller --chunk", what, bytes * 1e-9);
  madvise(p, bytes, MADV_HUGEPAGE);
  return static_cast<char*>(p);
}

int covers_any(const PlanContext&, int) { return 1; }

// The op that a step is known by: the first that is not preparation for it.
int main_op(const ops::Program& p, int first, int n) {
  for (int i = first; i < first + n; ++i) {
    std::string_view name = ops::name_of(p.ops[i]);
    bool preparation = name == ops::RmsNorm::kName || name == ops::Swiglu::kName || name == ops::ShortConv::kName;
    if (!preparation) return i;
  }
  return first;
}

// The name that `--kernel op=name` asks for, or "".
std::string forced_kernel(const std::string& forced, std::string_view op) {
  size_t at = 0;
  while (at < forced.size()) {
    size_t end = std::min(forced.find(',', at), forced.size());
    std::string item = forced.substr(at, end - at);
    size_t equals = item.find('=');
    if (equals == std::string::npos)
      fail(ErrorCode::Usage, "--kernel \"{}\": expected op=kernel, for instance linear=generic", item);
    if (item.substr(0, equals) == op) return item.substr(equals + 1);
    at = end + 1;
  }
  return "";
}

}  // namespace

uint64_t plan_memory(std::vector<Lifetime>& blocks) {
  std::vector<Lifetime*> order;
  for (Lifetime& b : blocks)
    if (b.first >= 0) order.push_back(&b);
  std::stable_sort(order.begin(), order.end(),
                   [](const Lifetime* a, const Lifetime* b) { return a->bytes > b->bytes; });
  uint64_t total = 0;
  std::vector<Lifetime*> placed;  // sorted by offset
  for (Lifetime* b : order) {
    uint64_t at = 0;
    for (const Lifetime* p : placed) {
      if (p->last < b->first || b->last < p->first) continue;
      if (at + b->bytes <= p->offset) break;
      at = std::max(at, round_up(p->offset + p->bytes, 64));
    }
    b->offset = at;
    total = std::max(total, at + b->bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), b,
                                   [](const Lifetime* x, const Lifetime* y) { return x->offset < y->offset; }),
                  b);
  }
  return total;
}

CpuPlan::CpuPlan(const ops::Program& program, const ops::Weights& weights, CpuState& state, RopeCache& ropes, Isa isa,
                 int n_workers, const backend::CompileOptions& options)
    : context_{program,
               weights,
               state,
               ropes,
               linear_kernels(isa),
               float_kernels(isa),
               n_workers,
               options.max_tokens,
               options.max_outputs,
               options.exact,
               {}},
      options_(options) {
  for (auto part : {basic_kernels(), linear_kernels_table(), attention_kernels(), delta_kernels(), moe_kernels()})
    table_.insert(table_.end(), part.begin(), part.end());
  table_.push_back({"generic", true, covers_any, bind_generic});
  cover(isa);
  if (!options_.instruments.without.empty()) leave_out();
  if (options_.instruments.inert != 0) add_inert();
  lay_out();
  for (size_t i = 0; i < infos_.size(); ++i)
    bound_.push_back(chosen_[i]->bind(context_, infos_[i].first_op, infos_[i].n_ops));
  for (const auto& s : bound_) {
    shared_bytes_ = std::max(shared_bytes_, s->shared_scratch());
    own_bytes_ = std::max(own_bytes_, round_up(s->own_scratch(), 4096));
  }
  shared_ = reserve(shared_bytes_, "scratch memory");
  own_ = reserve(own_bytes_ * n_workers, "scratch memory");
  times.resize(infos_.size() + 1);
  dispatches.resize(infos_.size());
}

CpuPlan::~CpuPlan() {
  if (arena_) munmap(arena_, arena_bytes_);
  if (shared_) munmap(shared_, shared_bytes_);
  if (own_) munmap(own_, own_bytes_ * context_.n_workers);
}

void CpuPlan::cover(Isa isa) {
  const ops::Program& p = context_.program;
  std::map<std::string, uint16_t> names;
  for (int i = 0; i < static_cast<int>(p.ops.size());) {
    std::string forced = forced_kernel(options_.forced, ops::name_of(p.ops[i]));
    const Kernel* best = nullptr;
    int n_best = 0;
    for (const Kernel& k : table_) {
      if (options_.exact && !k.exact) continue;
      if (!forced.empty() && std::string_view(k.name).substr(0, forced.size()) != forced) continue;
      int n = k.covers(context_, i);
      for (int j = 1; j < n; ++j)  // a forced op is not swallowed by a fused kernel either
        if (!forced_kernel(options_.forced, ops::name_of(p.ops[i + j])).empty()) n = 0;
      if (n > n_best) best = &k, n_best = n;
    }
    if (!best)
      fail(ErrorCode::Usage, "cpu: no kernel for op \"{}\" (layer {}){}", ops::name_of(p.ops[i]), p.op_layer[i],
           forced.empty() ? "" : " is named \"" + forced + "…\"; --trace plan shows what there is");
    std::string name = std::string(best->name) + "_" + isa_name(isa);
    int main = main_op(p, i, n_best);
    infos_.push_back({name, std::string(ops::name_of(p.ops[main])), std::string(ops::segment_name(p, main)),
                      p.op_layer[i], i, n_best, backend::shape_text(p, main)});
    kernel_ids.push_back(names.emplace(name, names.size()).first->second);
    chosen_.push_back(best);
    i += n_best;
  }
}

// Takes the steps of the components named in options.instruments.without from the list. What they would have defined
// stays at zero: it gets memory of its own, which nothing writes.
void CpuPlan::leave_out() {
  const ops::Program& p = context_.program;
  std::vector<bool> gone(infos_.size());
  for (const std::string& component : backend::component_list(options_.instruments.without)) {
    backend::check_component(component, infos_);
    for (size_t s = 0; s < infos_.size(); ++s)
      if (backend::belongs_to(infos_[s], component)) gone[s] = true;
  }
  left_out_.assign(p.values.size(), false);
  std::vector<bool> defined(p.values.size()), added(p.values.size());
  for (size_t s = 0; s < infos_.size(); ++s)
    for (int op = infos_[s].first_op; op < infos_[s].first_op + infos_[s].n_ops; ++op)
      ops::values_of(p.ops[op], [&](ops::Value v, bool is_output) {
        if (is_output) (gone[s] ? left_out_ : ops::accumulates(p.ops[op]) ? added : defined)[v.id] = true;
      });
  for (size_t v = 0; v < p.values.size(); ++v) {
    if (defined[v]) left_out_[v] = false;  // the residual stream: it still begins with the embedding
    if (left_out_[v] && added[v])
      fail(ErrorCode::Usage, "\"{}\" cannot be left out: other steps add to its result {}",
           options_.instruments.without, p.values[v].name);
  }
  size_t n = 0;
  for (size_t s = 0; s < infos_.size(); ++s) {
    if (gone[s]) continue;
    if (n != s) infos_[n] = infos_[s], chosen_[n] = chosen_[s], kernel_ids[n] = kernel_ids[s];
    ++n;
  }
  infos_.resize(n), chosen_.resize(n), kernel_ids.resize(n);
}

namespace {

class InertStep : public Step {
 public:
  void run(const RunContext&) noexcept override {}
};
std::unique_ptr<Step> bind_inert(const PlanContext&, int, int) { return std::make_unique<InertStep>(); }
constexpr Kernel kInert{"inert", true, nullptr, bind_inert};

}  // namespace

void CpuPlan::add_inert() {
  double rate = options_.instruments.inert;
  if (!(rate > 0 && rate <= 1000))
    fail(ErrorCode::Usage, "inert dispatches: {} per dispatch, expected 0 to 1000", rate);
  std::vector<ledger::StepInfo> infos;
  std::vector<const Kernel*> chosen;
  std::vector<uint16_t> ids;
  uint16_t inert_id = 1;
  for (uint16_t id : kernel_ids) inert_id = std::max<uint16_t>(inert_id, id + 1);
  for (size_t s = 0; s < infos_.size(); ++s) {
    infos.push_back(infos_[s]), chosen.push_back(chosen_[s]), ids.push_back(kernel_ids[s]);
    int64_t n = int64_t(double(s + 1) * rate) - int64_t(double(s) * rate);
    for (int64_t i = 0; i < n; ++i) {
      infos.push_back({"inert", "inert", "inert", -1, infos_[s].first_op, 0, ""});
      chosen.push_back(&kInert), ids.push_back(inert_id);
    }
  }
  infos_ = std::move(infos), chosen_ = std::move(chosen), kernel_ids = std::move(ids);
}

void CpuPlan::lay_out() {
  const ops::Program& p = context_.program;
  std::vector<Lifetime> blocks(p.values.size());
  int n_steps = static_cast<int>(infos_.size());
  for (size_t v = 0; v < blocks.size(); ++v)
    blocks[v].bytes =
        round_up(uint64_t(context_.max_rows(ops::Value{int(v)})) * p.values[v].cols * sizeof(float), 64) + 64;
  for (int s = 0; s < n_steps; ++s)
    for (int i = 0; i < infos_[s].n_ops; ++i)
      ops::values_of(p.ops[infos_[s].first_op + i], [&](ops::Value v, bool) {
        Lifetime& b = blocks[v.id];
        if (b.first < 0) b.first = s;
        b.last = s;
      });
  for (size_t v = 0; v < left_out_.size(); ++v)
    if (left_out_[v]) blocks[v].first = 0, blocks[v].last = n_steps;
  for (ops::Value v : {p.logits, p.hidden})  // read after the step
    if (v) blocks[v.id].last = n_steps;
  arena_bytes_ = round_up(plan_memory(blocks), 4096);
  arena_ = reserve(arena_bytes_, "activations");
  for (const Lifetime& b : blocks)
    context_.values.push_back(b.first < 0 ? nullptr : reinterpret_cast<float*>(arena_ + b.offset));
}

}  // namespace tally::cpu
