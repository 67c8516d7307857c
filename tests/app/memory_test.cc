#include "app/memory.h"

#include <gtest/gtest.h>

#include <fstream>

#include "app/synth.h"
#include "base/error.h"
#include "support.h"

namespace tally::app {
namespace {

constexpr uint64_t kGB = 1'000'000'000, kGiB = uint64_t{1} << 30;

// The flagship at 4.8 bits with a context of 32768 tokens.
MemoryNeed flagship() {
  return {.weights = 23 * kGB,
          .always_read = 2 * kGB,
          .experts = 20 * kGB,
          .routed = 20 * kGB / 32,
          .slots = 65'000'000,
          .pages = 670 * kGB / 1000,
          .activations = 50'000'000,
          .context_length = 32768,
          .n_sequences = 1,
          .chunk = 512,
          .bits_per_weight = 5.3};
}

MachineMemory machine(uint64_t available) { return {.total = available + kGB, .available = available}; }

bool mentions(const FitVerdict& v, const std::string& part) { return v.text.find(part) != std::string::npos; }

TEST(Memory, VerdictsByRoom) {
  const MemoryNeed need = flagship();
  EXPECT_EQ(check_fit(need, machine(32 * kGB)).fit, Fit::Fits);
  EXPECT_EQ(check_fit(need, machine(24 * kGiB)).fit, Fit::Fits);  // 25.8 GB
  const FitVerdict again = check_fit(need, machine(16 * kGB));
  EXPECT_EQ(again.fit, Fit::ReadsAgain);
  EXPECT_EQ(again.missing, need.total() - again.room);
  EXPECT_GT(again.reread_per_token, 100'000'000u);
  EXPECT_LT(again.reread_per_token, need.routed);
  EXPECT_TRUE(mentions(again, "again and again")) << again.text;
  const FitVerdict hopeless = check_fit(need, machine(2 * kGB));
  EXPECT_EQ(hopeless.fit, Fit::Hopeless);
  EXPECT_GT(hopeless.missing, 0u);
  EXPECT_TRUE(mentions(hopeless, "more memory")) << hopeless.text;
}

TEST(Memory, VerdictChangesExactlyAtTheNeed) {
  const MemoryNeed need = flagship();
  const uint64_t margin = 32 * kGB - check_fit(need, machine(32 * kGB)).room;
  EXPECT_EQ(check_fit(need, machine(need.total() + margin)).fit, Fit::Fits);
  EXPECT_EQ(check_fit(need, machine(need.total() + margin - 1)).fit, Fit::ReadsAgain);
  const uint64_t least = need.anonymous() + need.always_read;
  EXPECT_EQ(check_fit(need, machine(least + margin)).fit, Fit::ReadsAgain);
  EXPECT_EQ(check_fit(need, machine(least + margin - 1)).fit, Fit::Hopeless);
  EXPECT_EQ(check_fit(need, machine(0)).fit, Fit::Hopeless);
}

TEST(Memory, HopelessNamesWhatHelps) {
  MemoryNeed need = flagship();
  need.pages = 20 * kGB, need.context_length = 1 << 20;
  FitVerdict v = check_fit(need, machine(8 * kGB));
  EXPECT_EQ(v.fit, Fit::Hopeless);
  EXPECT_TRUE(mentions(v, "a smaller --ctx (up to")) << v.text;
  EXPECT_FALSE(mentions(v, "--sequences")) << v.text;
  // The context it names fits.
  const size_t at = v.text.find("up to ") + 6;
  const auto context = static_cast<uint64_t>(std::stoll(v.text.substr(at)));
  need.pages = need.pages / need.context_length * context, need.context_length = static_cast<int>(context);
  EXPECT_NE(check_fit(need, machine(8 * kGB)).fit, Fit::Hopeless);

  need = flagship(), need.n_sequences = 64, need.slots *= 64, need.pages *= 64;
  v = check_fit(need, machine(8 * kGB));
  EXPECT_EQ(v.fit, Fit::Hopeless);
  EXPECT_TRUE(mentions(v, "fewer --sequences")) << v.text;

  need = {.weights = 16 * kGB, .always_read = 16 * kGB, .context_length = 512, .bits_per_weight = 16};
  v = check_fit(need, machine(8 * kGB));
  EXPECT_TRUE(mentions(v, "a smaller quantisation such as q4_k_m")) << v.text;
  EXPECT_FALSE(mentions(v, "--ctx")) << v.text;
}

TEST(Memory, GroupLimitCounts) {
  MachineMemory m = machine(64 * kGB);
  m.limit = 8 * kGB, m.used = 3 * kGB;
  EXPECT_EQ(m.usable(), 5 * kGB);
  EXPECT_TRUE(mentions(check_fit(flagship(), m), "control group")) << check_fit(flagship(), m).text;
  m.used = 9 * kGB;
  EXPECT_EQ(m.usable(), 0u);
}

class FakeRoot {
 public:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = folder_.path() / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  MachineMemory read() const { return read_machine_memory(folder_.path().string()); }

 private:
  test::TemporaryFolder folder_;
};

TEST(Memory, ReadsMeminfoAndGroupsOfVersion2) {
  FakeRoot root;
  root.write("proc/meminfo", "MemTotal:       24000000 kB\nMemFree: 1 kB\nMemAvailable:   20000000 kB\n");
  EXPECT_EQ(root.read().usable(), uint64_t{20000000} * 1024);
  EXPECT_FALSE(root.read().limit);
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  root.write("sys/fs/cgroup/a/b/memory.current", "5000\n");
  root.write("sys/fs/cgroup/a/memory.max", "1000000\n");
  root.write("sys/fs/cgroup/a/memory.current", "700000\n");
  root.write("sys/fs/cgroup/a/memory.stat", "anon 1\nactive_file 100000\ninactive_file 200000\n");
  EXPECT_EQ(root.read().limit, 1000000u);
  EXPECT_EQ(root.read().used, 400000u);  // file pages can go
  EXPECT_EQ(root.read().usable(), 600000u);
}

TEST(Memory, ReadsGroupsOfVersion1) {
  FakeRoot root;
  root.write("proc/meminfo", "MemTotal: 24000000 kB\nMemAvailable: 20000000 kB\n");
  root.write("proc/self/cgroup", "5:devices:/\n4:cpu,memory:/job\n0::/\n");
  root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3000000\n");
  root.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1000000\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "9000000\n");
  EXPECT_EQ(root.read().limit, 3000000u);
  EXPECT_EQ(root.read().usable(), 2000000u);
}

TEST(Memory, WithoutMeminfoItSaysSo) {
  FakeRoot root;
  EXPECT_THROW(root.read(), Error);
}

// State as the engine makes it, and weights as the file holds them.
TEST(Memory, NeedAgreesWithTheEngine) {
  test::TemporaryFolder folder;
  for (const char* architecture : {"qwen35moe", "lfm2", "gemma3"}) {
    const std::string path = folder.file(architecture);
    synthesize({.architecture = architecture, .size = "tiny", .path = path, .progress = ProgressMode::Off});
    const gguf::File file = gguf::File::open(path);
    for (bool exact : {false, true}) {
      const runtime::EngineOptions options{
          .n_threads = 1, .context_length = 200, .chunk = 64, .n_sequences = 3, .exact = exact};
      const MemoryNeed need = memory_need(file, options);
      runtime::Engine engine(file, options);
      EXPECT_EQ(need.slots, 3 * engine.state_bytes_per_slot());
      EXPECT_EQ(need.pages, 3 * 4 * engine.state_bytes_per_page());
      EXPECT_EQ(need.weights, engine.weights().bytes);
      EXPECT_GT(need.activations, 0u);
      EXPECT_LE(need.always_read + need.experts, need.weights);
    }
  }
}

TEST(Memory, TinyModelFitsHere) {
  test::TemporaryFolder folder;
  const std::string path = folder.file("model.gguf");
  synthesize({.architecture = "llama", .size = "tiny", .path = path, .progress = ProgressMode::Off});
  const gguf::File file = gguf::File::open(path);
  EXPECT_NO_THROW(require_fit(file, {.context_length = 256}, false));
  EXPECT_NE(fit_line(file, {.context_length = 256}).find("fits"), std::string::npos);
  const runtime::EngineOptions hopeless{.context_length = 32768, .n_sequences = 1 << 24};
  EXPECT_THROW(require_fit(file, hopeless, false), Error);
  EXPECT_NO_THROW(require_fit(file, hopeless, true));
}

}  // namespace
}  // namespace tally::app
