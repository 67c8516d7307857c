// Times the matrix-product kernels: bench_linear [type|all [k n [threads [cached]]]]. Prints GB/s of weights, and
// multiply-adds per second and per cycle and core (of the time-stamp counter, so relative to the nominal clock).
#include <x86intrin.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/cpu/kernels/linear.h"
#include "cpu_kernels/linear_data.h"

namespace tally::cpu {
namespace {

struct Setup {
  const LinearKernels& kernels;
  const quant::QuantType& type;
  bool q8;
  int64_t k, n, n_x;
  int n_threads;
  bool cached;  // the same weights again and again
};

double clock_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Everything that one call needs. Weights are taken in turn from a pool larger than the caches when there are few
// columns, as in decoding.
class Work {
 public:
  explicit Work(const Setup& s)
      : s_(s),
        row_bytes_(s.k / s.type.block_elements * s.type.block_bytes),
        copies_(s.n_x <= 16 && !s.cached ? std::max<int64_t>(1, (int64_t{512} << 20) / (row_bytes_ * s.n)) : 1),
        weights_(static_cast<size_t>(copies_ * row_bytes_ * s.n)),
        x_(test::random_floats(s.n_x * s.k, 2)),
        out_(static_cast<size_t>(s.n_x * s.n)),
        memory_(std::aligned_alloc(64, quantized_rows_bytes(s.n_x, s.k))),
        rows_(quantized_rows_at(memory_, s.n_x, s.k)) {
    const int64_t bytes = row_bytes_ * s.n;
    test::fill_weights(s.type, s.n * s.k / s.type.block_elements, 1, weights_.data());
    for (int64_t c = 1; c < copies_; ++c)
      std::memcpy(weights_.data() + c * bytes, weights_.data(), static_cast<size_t>(bytes));
    s.kernels.quantize_rows(x_.data(), s.k, 0, s.n_x, rows_);
  }
  ~Work() { std::free(memory_); }

  // The rows of thread t, from copy c of the weights.
  void call(int t, int64_t c, void* scratch) {
    const int64_t from = s_.n * t / s_.n_threads, to = s_.n * (t + 1) / s_.n_threads;
    const Matrix w = {weights_.data() + (c % copies_) * row_bytes_ * s_.n, &s_.type, s_.k, s_.n, row_bytes_};
    if (s_.q8)
      s_.kernels.linear_q8(w, from, to, rows_, nullptr, s_.n_x, out_.data(), s_.n, false, scratch);
    else
      s_.kernels.linear_f32(w, from, to, x_.data(), s_.k, nullptr, s_.n_x, out_.data(), s_.n, false, scratch);
  }

 private:
  Setup s_;
  int64_t row_bytes_, copies_;
  std::vector<uint8_t> weights_;
  std::vector<float> x_, out_;
  void* memory_;
  QuantizedRows rows_;
};

// Time of a call: the best of many samples of about a millisecond, shorter than a time slice, so that other programs
// count less; the slowest thread's.
double best_seconds(const Setup& s) {
  Work work(s);
  std::vector<double> best(static_cast<size_t>(s.n_threads), 1e9);
  std::vector<std::thread> team;
  for (int t = 0; t < s.n_threads; ++t)
    team.emplace_back([&, t] {
      void* scratch = std::aligned_alloc(64, s.kernels.scratch_bytes);
      int64_t c = 0, calls = 1;
      for (double total = 0; total < 0.5;) {
        const double begin = clock_seconds();
        for (int64_t i = 0; i < calls; ++i) work.call(t, c++, scratch);
        const double seconds = clock_seconds() - begin;
        total += seconds;
        double& b = best[static_cast<size_t>(t)];
        b = std::min(b, seconds / static_cast<double>(calls));
        if (seconds < 0.001) calls *= 2;
      }
      std::free(scratch);
    });
  for (std::thread& t : team) t.join();
  return *std::max_element(best.begin(), best.end());
}

// Ticks of the time-stamp counter per second.
double tick_rate() {
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t ticks = __rdtsc();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double elapsed = static_cast<double>(__rdtsc() - ticks);
  return elapsed / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void print(const Setup& s) {
  static const double rate = tick_rate();
  const double seconds = best_seconds(s);
  const double weights = static_cast<double>(s.k * s.n), macs = weights * static_cast<double>(s.n_x);
  const double bytes = weights / s.type.block_elements * s.type.block_bytes;
  std::printf(
      "%-7s %-7s %-4s %5lld x %-5lld n_x %-4lld threads %d  %9.1f us  %6.2f GB/s  %7.1f GMAC/s  %6.2f per cycle\n",
      isa_name(s.kernels.isa), s.type.name, s.q8 ? "q8" : "f32", static_cast<long long>(s.k),
      static_cast<long long>(s.n), static_cast<long long>(s.n_x), s.n_threads, seconds * 1e6, bytes / seconds * 1e-9,
      macs / seconds * 1e-9, macs / seconds / rate / s.n_threads);
  std::fflush(stdout);
}

}  // namespace
}  // namespace tally::cpu

int main(int argc, char** argv) {
  using namespace tally;
  const std::string_view name = argc > 1 ? argv[1] : "all";
  const int64_t k = argc > 3 ? std::atoll(argv[2]) : 2048, n = argc > 3 ? std::atoll(argv[3]) : 2048;
  const int n_threads = argc > 4 ? std::atoi(argv[4]) : 1;
  const bool cached = argc > 5 && std::string_view(argv[5]) == "cached";
  for (const cpu::Isa isa : {cpu::Isa::Avx2, cpu::Isa::Avx512}) {
    if (isa > cpu::best_isa()) continue;
    const cpu::LinearKernels& kernels = cpu::linear_kernels(isa);
    for (const char* type_name : {"q4_k", "q5_k", "q6_k", "q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "iq4_nl", "iq4_xs",
                                  "mxfp4", "q3_k", "q2_k", "f16", "bf16", "f32"}) {
      if (name != "all" && name != type_name) continue;
      const quant::QuantType& type = *quant::find_type(std::string_view(type_name));
      if (k % type.block_elements != 0) continue;
      for (const int64_t n_x : {1, 2, 4, 8, 16, 32, 64, 512})
        cpu::print({kernels, type, kernels.supports_q8(type, k), k, n, n_x, n_threads, cached});
    }
  }
  return 0;
}
