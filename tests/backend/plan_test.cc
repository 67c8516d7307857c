// Plans as golden text: a refactoring changes none of them, a new kernel changes the lines it should. And memory by
// liveness.
#include "backend/cpu/plan.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "backend/cpu/cpu_backend.h"
#include "base/error.h"
#include "models/registry.h"
#include "models/weights.h"
#include "support.h"

namespace tally {
namespace {

std::string plan_text(const std::string& model, bool exact) {
  gguf::File file = gguf::File::open(model);
  ops::Program p = models::build_program(models::source_of(file));
  ops::Weights w = models::bind_weights(p, file);
  auto backend = cpu::make_cpu_backend({.n_threads = 2, .isa = "generic"});
  auto state = backend->make_state(p, {1, 1, exact});
  return backend->compile(p, w, *state, {8, 8, exact, ""})->text();
}

TEST(Plans, AreAsWritten) {
  const std::filesystem::path folder = std::filesystem::path(TALLY_SOURCE_DIR) / "tests/data/plans";
  std::vector<std::pair<std::string, std::string>> models{
      {"tally-tiny", std::string(TALLY_SOURCE_DIR) + "/models/tally-tiny.gguf"}};
  for (const char* name : {"llama", "gemma3", "lfm2", "bailingmoe2"})
    models.emplace_back(name, std::string(TALLY_SOURCE_DIR) + "/tests/data/tiny/" + name + ".gguf");
  for (const auto& [name, path] : models)
    for (bool exact : {false, true}) {
      std::filesystem::path golden = folder / (name + (exact ? ".exact" : "") + ".txt");
      std::string got = plan_text(path, exact);
      if (std::getenv("TALLY_WRITE_GOLDEN"))
        std::ofstream(golden) << got;  // to accept a change: set it, run, look at git diff
      std::vector<uint8_t> want = test::read_file(golden);
      EXPECT_EQ(got, std::string(want.begin(), want.end())) << golden << "; TALLY_WRITE_GOLDEN=1 writes the new text";
    }
}

TEST(Plans, ForcedKernels) {
  gguf::File file = gguf::File::open(std::string(TALLY_SOURCE_DIR) + "/models/tally-tiny.gguf");
  ops::Program p = models::build_program(models::source_of(file));
  ops::Weights w = models::bind_weights(p, file);
  auto backend = cpu::make_cpu_backend({.n_threads = 1, .isa = "generic"});
  auto state = backend->make_state(p, {1, 1, false});
  auto plan = backend->compile(p, w, *state, {1, 1, false, "gated_delta=generic"});
  int n_generic = 0;
  for (const auto& s : plan->steps()) n_generic += s.kernel.rfind("generic", 0) == 0;
  EXPECT_EQ(n_generic, 6) << "one for each delta layer";
  EXPECT_THROW(backend->compile(p, w, *state, {1, 1, false, "linear=nonsense"}), Error);
  EXPECT_THROW(backend->compile(p, w, *state, {1, 1, false, "linear"}), Error);
}

TEST(MemoryPlan, LivingBlocksNeverOverlap) {
  std::vector<cpu::Lifetime> blocks;
  for (int i = 0; i < 200; ++i) blocks.push_back({(i * 7) % 50, (i * 7) % 50 + i % 9, uint64_t(64 + (i * 131) % 5000)});
  blocks.push_back({-1, -1, 100});
  uint64_t total = cpu::plan_memory(blocks), sum = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const cpu::Lifetime& a = blocks[i];
    if (a.first < 0) continue;
    sum += a.bytes;
    EXPECT_LE(a.offset + a.bytes, total);
    for (size_t j = 0; j < i; ++j) {
      const cpu::Lifetime& b = blocks[j];
      if (b.first < 0 || a.last < b.first || b.last < a.first) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) << i << " and " << j;
    }
  }
  EXPECT_LT(total, sum / 2) << "memory is used again";
}

}  // namespace
}  // namespace tally
