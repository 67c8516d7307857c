#include "app/limits.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "app/cache.h"
#include "backend/cpu/kernels/peak.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/processor.h"

namespace tally::app {

namespace {

constexpr size_t kLarge = size_t(512) << 20;  // far beyond any cache
constexpr size_t kStride = 512;               // what a read comes in
constexpr uint64_t kRoundNs = 20'000'000;     // each round is repeated work of about so long
constexpr int kRounds = 5;

class Memory {
 public:
  explicit Memory(size_t bytes) : bytes_(bytes) {
    void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
      fail(ErrorCode::Resources, "no memory for {:.0f} MB to measure the bandwidth with", bytes * 1e-6);
    madvise(p, bytes, MADV_HUGEPAGE);
    data_ = static_cast<char*>(p);
  }
  ~Memory() { munmap(data_, bytes_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* data() const { return data_; }

 private:
  size_t bytes_;
  char* data_;
};

// Best of some rounds of `amount` per second, each worker calling body(worker, repeats).
double best_rate(ThreadTeam& team, double amount, const std::function<void(int, int64_t)>& body) {
  int64_t repeats = 1;
  double best = 0;
  auto round = [&] {
    uint64_t begin = now_ns();
    team.run([&](int w) { body(w, repeats); });
    return std::max<uint64_t>(1, now_ns() - begin);
  };
  for (uint64_t ns = round(); ns < kRoundNs; ns = round()) {
    repeats = std::max(repeats + 1, int64_t(double(repeats) * std::min(16.0, 1.2 * double(kRoundNs) / double(ns))));
    if (repeats > int64_t(1) << 40) break;
  }
  for (int i = 0; i < kRounds; ++i) best = std::max(best, amount * double(repeats) / double(round()) * 1e9);
  return best;
}

std::atomic<uint64_t> kept;  // results go here, so that they must be made

// A number kept in the cache folder under a key, or measured and kept.
double stored(const std::string& key, bool fresh, const std::function<double()>& measure) {
  nlohmann::json known = nlohmann::json::object();
  std::filesystem::path path;
  try {
    path = cache_folder() / "limits.json";
    std::ifstream in(path);
    if (in) known = nlohmann::json::parse(in, nullptr, false);
    if (!known.is_object()) known = nlohmann::json::object();
  } catch (const Error&) {
    path.clear();  // no cache folder: measure each time
  }
  auto found = known.find(key);
  if (!fresh && found != known.end() && found->is_number() && *found > 0) return found->get<double>();
  double value = measure();
  if (!path.empty() && value > 0 && std::isfinite(value)) {
    known[key] = value;
    std::error_code ignored;
    std::filesystem::create_directories(path.parent_path(), ignored);
    std::ofstream(path) << known.dump(1) << '\n';
  }
  return value;
}

std::string key_of(int n_threads) { return fmt::format("{} x{}", processor_name(), n_threads); }

cpu::Isa isa_named(const std::string& name) {
  for (cpu::Isa isa : {cpu::Isa::Generic, cpu::Isa::Avx2, cpu::Isa::Avx512})
    if (name == cpu::isa_name(isa) && isa <= cpu::best_isa()) return isa;
  return cpu::best_isa();
}

}  // namespace

double measure_read(ThreadTeam& team, size_t bytes) {
  size_t share = std::max(bytes / size_t(team.size()) / kStride, size_t(1)) * kStride;
  Memory memory(share * size_t(team.size()));
  const cpu::PeakKernels& k = cpu::peak_kernels(cpu::best_isa());
  team.run([&](int w) { std::memset(memory.data() + size_t(w) * share, w + 1, share); });
  return best_rate(team, double(share) * team.size(), [&](int w, int64_t n) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += k.read(memory.data() + size_t(w) * share, share);
    kept.store(sum, std::memory_order_relaxed);
  });
}

double measure_copy(ThreadTeam& team, size_t bytes) {
  size_t half = std::max(bytes / 2 / size_t(team.size()) / kStride, size_t(1)) * kStride;
  Memory memory(2 * half * size_t(team.size()));
  team.run([&](int w) { std::memset(memory.data() + size_t(w) * 2 * half, w + 1, 2 * half); });
  return best_rate(team, 2.0 * double(half) * team.size(), [&](int w, int64_t n) {
    char* from = memory.data() + size_t(w) * 2 * half;
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      std::memcpy(from + half, from, half);
      from[0] = static_cast<char>(from[0] + from[half + 1]);
      sum += uint64_t(from[0]);
    }
    kept.store(sum, std::memory_order_relaxed);
  });
}

double measure_multiply(ThreadTeam& team, Multiply type, const std::string& isa) {
  const cpu::PeakKernels& k = cpu::peak_kernels(isa_named(isa));
  constexpr int64_t kBlock = 10000;
  double ops = double(type == Multiply::F32 ? k.f32_ops : k.int8_ops) * double(kBlock) * team.size();
  return best_rate(team, ops, [&](int, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i)
      sum += type == Multiply::F32 ? double(k.multiply_f32(kBlock)) : double(k.multiply_int8(kBlock));
    kept.store(uint64_t(std::abs(sum)), std::memory_order_relaxed);
  });
}

double read_bandwidth(int n_threads, bool fresh) {
  return stored(key_of(n_threads), fresh, [&] {
    ThreadTeam team(n_threads);
    return measure_read(team, kLarge);
  });
}

double multiply_rate(int n_threads, Multiply type, const std::string& isa, bool fresh) {
  std::string level = cpu::isa_name(isa_named(isa));
  const char* name = type == Multiply::F32 ? "f32" : "int8";
  return stored(fmt::format("{} {} {} operations/s", key_of(n_threads), level, name), fresh, [&] {
    ThreadTeam team(n_threads);
    return measure_multiply(team, type, level);
  });
}

double dispatch_ns(int n_threads, bool fresh, const std::function<double()>& measure) {
  return stored(key_of(n_threads) + " ns per dispatch", fresh, measure);
}

}  // namespace tally::app
