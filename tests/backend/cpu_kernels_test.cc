// Every kernel of the CPU backend, at every instruction-set level the machine has, against the double-precision
// definition: whole Programs of all architectures, op by op, each fed with the reference's inputs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include "backend/backend.h"
#include "backend/cpu/kernels/isa.h"
#include "backend/cpu/plan.h"
#include "base/rng.h"
#include "models/registry.h"
#include "models/weights.h"
#include "support.h"

namespace tally {
namespace {

using backend::Observer;

struct Case {
  std::string model, isa;
  bool exact;
  std::string kernels;  // as --kernel
};

// Takes fused steps apart, so that the single kernels are met too.
const char* const kApart =
    "rms_norm=rms_norm,swiglu=swiglu,short_conv=short_conv,gated_delta=gated_delta,gated_norm=gated_norm,route=route";

std::vector<std::string> models_here() {
  std::vector<std::string> out{std::string(TALLY_SOURCE_DIR) + "/models/tally-tiny.gguf"};
  for (const auto& e : std::filesystem::directory_iterator(std::string(TALLY_SOURCE_DIR) + "/tests/data/tiny"))
    if (e.path().extension() == ".gguf") out.push_back(e.path().string());
  return out;
}

// Two segments: one of `n` tokens, one of a single token, in swapped pages and slots.
ops::Batch two_segments(int n, int vocab) {
  ops::Batch b;
  b.n_tokens = n + 1;
  b.n_segments = 2;
  b.n_outputs = 3;
  for (int i = 0; i <= n; ++i) b.tokens.push_back(static_cast<int32_t>(random_u64(3, i) % vocab));
  b.positions.resize(n + 1);
  std::iota(b.positions.begin(), b.positions.end() - 1, 0);
  b.positions[n] = 0;
  b.segment_start = {0, n, n + 1};
  b.slot = {1, 0};
  b.context_len = {0, 0};
  b.max_pages = (n + 63) / 64;
  b.page_table.assign(2 * b.max_pages, 0);
  for (int p = 0; p < b.max_pages; ++p) b.page_table[p] = b.max_pages - p;
  b.output_row = {0, n - 1, n};
  return b;
}

class Recorder : public Observer {
 public:
  void after_op(int op, ops::Value v, std::span<float> x) override { rows[{op, v.id}].assign(x.begin(), x.end()); }
  std::map<std::pair<int, int>, std::vector<float>> rows;
};

class Checker : public Observer {
 public:
  Checker(const Recorder& want, const ops::Program& p, const backend::Plan& plan, double fault)
      : want_(want), p_(p), fault_(fault) {
    kernel_.resize(p.ops.size());
    for (const auto& s : plan.steps())
      for (int i = 0; i < s.n_ops; ++i) kernel_[s.first_op + i] = s.kernel;
  }
  void after_op(int op, ops::Value v, std::span<float> got) override {
    const std::vector<float>& want = want_.rows.at({op, v.id});
    ASSERT_EQ(want.size(), got.size());
    if (fault_ != 0 && op == 1) got[got.size() / 2] += float(fault_);  // a planted fault
    double error = 0, norm = 0;
    for (size_t i = 0; i < got.size(); ++i)
      error += std::pow(double(got[i]) - want[i], 2), norm += std::pow(double(want[i]), 2);
    bool q8 = kernel_[op].find("_q8") != std::string::npos, f16 = kernel_[op].find("_f16") != std::string::npos;
    double allowed = q8 ? 0.03 : f16 ? 2e-3 : 2e-5;  // 8-bit rows about 1 %, half-float cells 2^-11, float32 sums
    if (!(std::sqrt(error / std::max(norm, 1e-30)) <= allowed))
      bad.push_back(kernel_[op] + " (" + std::string(ops::name_of(p_.ops[op])) + ", op " + std::to_string(op) +
                    "): " + std::to_string(std::sqrt(error / norm)));
    std::copy(want.begin(), want.end(), got.begin());
    seen.insert(kernel_[op]);
  }
  std::vector<std::string> bad;
  std::set<std::string> seen;

 private:
  const Recorder& want_;
  const ops::Program& p_;
  double fault_;
  std::vector<std::string> kernel_;
};

// Runs the model on both backends; returns what was wrong and adds the kernels it met.
std::vector<std::string> check(const Case& c, int n_tokens, double fault, std::set<std::string>* seen) {
  gguf::File file = gguf::File::open(c.model);
  ops::Program p = models::build_program(models::source_of(file));
  ops::Weights w = models::bind_weights(p, file);
  ops::Batch batch = two_segments(n_tokens, p.vocab_size);
  auto run = [&](const std::string& device, bool exact, const std::string& kernels, auto&& make_observer) {
    auto backend = backend::make_backend(device, {.n_threads = 2, .isa = device == "cpu" ? c.isa : ""});
    auto state = backend->make_state(p, {2, 1 + batch.max_pages, exact});
    for (int slot : {0, 1}) state->clear_slot(slot);
    auto plan = backend->compile(p, w, *state, {batch.n_tokens, batch.n_outputs, exact, kernels});
    backend->run(*plan, batch, make_observer(*plan));
  };
  // The definition runs once for a model and length: it is slow, above all under sanitizers.
  static std::map<std::pair<std::string, int>, Recorder> definitions;
  auto [found, is_new] = definitions.try_emplace({c.model, n_tokens});
  Recorder& definition = found->second;
  if (is_new) run("reference", true, "", [&](const backend::Plan&) { return &definition; });
  std::optional<Checker> checker;
  run("cpu", c.exact, c.kernels,
      [&](const backend::Plan& plan) { return &checker.emplace(definition, p, plan, fault); });
  if (seen) seen->insert(checker->seen.begin(), checker->seen.end());
  return checker->bad;
}

std::vector<std::string> levels() {
  std::vector<std::string> out;
  for (cpu::Isa isa : {cpu::Isa::Generic, cpu::Isa::Avx2, cpu::Isa::Avx512}) {
    if (isa <= cpu::best_isa())
      out.push_back(cpu::isa_name(isa));
    else
      std::printf("skipped: this machine has no %s\n", cpu::isa_name(isa));
  }
  return out;
}

// Every kind of op by its definition in float32.
std::string all_generic(const std::string& model) {
  gguf::File file = gguf::File::open(model);
  std::set<std::string> kinds;
  for (const ops::Op& op : models::build_program(models::source_of(file)).ops)
    kinds.insert(std::string(ops::name_of(op)));
  std::string forced;
  for (const std::string& k : kinds) forced += (forced.empty() ? "" : ",") + k + "=generic";
  return forced;
}

TEST(CpuBackend, EveryKernelOfEveryLevelEqualsItsDefinition) {
  std::set<std::string> seen;
  auto expect_right = [&](const Case& c, int n) {
    for (const std::string& bad : check(c, n, 0, &seen))
      ADD_FAILURE() << std::filesystem::path(c.model).stem() << " " << c.isa << (c.exact ? " exact " : " ") << n
                    << " tokens: " << bad;
  };
  for (const std::string& model : models_here()) {
    for (const std::string& isa : levels())
      for (bool exact : {false, true}) {
        for (int n : {1, 5, 70}) expect_right({model, isa, exact, ""}, n);
        expect_right({model, isa, exact, kApart}, 20);
      }
    expect_right({model, "generic", true, all_generic(model)}, 9);
  }
  // A kernel that no case reaches fails the suite.
  for (auto table : {cpu::basic_kernels(), cpu::linear_kernels_table(), cpu::attention_kernels(), cpu::delta_kernels(),
                     cpu::moe_kernels()})
    for (const cpu::Kernel& k : table) {
      static const std::set<std::string> kElsewhere{"input_f32", "concat_f32",
                                                    "softcap_f32"};  // MTP block and a rare key
      bool reached = kElsewhere.count(k.name) > 0;
      for (const std::string& name : seen) reached |= name.rfind(std::string(k.name) + "_", 0) == 0;
      EXPECT_TRUE(reached) << k.name << " is reached by no model here";
    }
}

TEST(CpuBackend, TheCheckCatchesAFault) {
  std::string model = std::string(TALLY_SOURCE_DIR) + "/tests/data/tiny/llama.gguf";
  EXPECT_TRUE(check({model, "generic", true, ""}, 9, 0, nullptr).empty());
  EXPECT_FALSE(check({model, "generic", true, ""}, 9, 0.05, nullptr).empty());
}

}  // namespace
}  // namespace tally
