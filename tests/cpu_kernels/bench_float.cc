// Times the float kernels: bench_float [level [prefill|decode|delta|rows]]. One thread, its own processor time. Prints
// GB/s of the cache or state that decoding must read (and write), GFLOP/s of prefill, and nanoseconds per element or
// row of the rest.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

#include "backend/cpu/kernels/float_kernels.h"
#include "base/rng.h"

namespace tally::cpu {
namespace {

double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// Seconds per call: the best of several repetitions of at least 20 ms each. The clock is read rarely, for it is slow.
template <typename Call>
double seconds(Call call) {
  double best = 1e9;
  for (int repetition = 0, n = 1; repetition < 6; ++repetition) {
    const double begin = thread_seconds();
    for (int i = 0; i < n; ++i) call();
    const double t = (thread_seconds() - begin) / n;
    if (repetition > 0) best = std::min(best, t);  // the first finds n
    n = std::max(1, int(0.02 / t));
  }
  return best;
}

std::vector<float> floats(int64_t n) {
  std::vector<float> x(n);
  for (int64_t i = 0; i < n; ++i) x[i] = float(2 * random_unit(1, i) - 1);
  return x;
}
float* aligned(std::vector<float>& x) {
  return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(x.data()) + 63) / 64 * 64);
}

// The pages of several heads one after another, so that decoding finds none in a cache.
struct Pages {
  Pages(const FloatKernels& kernels, int head_dim, int n_pages)
      : k(64 * int64_t(head_dim) * n_pages), v(64 * int64_t(head_dim) * n_pages) {
    const std::vector<float> row = floats(head_dim);
    for (int p = 0; p < n_pages; ++p) {
      const int64_t at = int64_t(p) * 64 * head_dim;
      for (int i = 0; i < 64; ++i) kernels.store_kv_f16(row.data(), row.data(), head_dim, i, &k[at], &v[at]);
      k_pages.push_back(&k[at]), v_pages.push_back(&v[at]);
    }
  }
  std::vector<uint16_t> k, v;
  std::vector<const void*> k_pages, v_pages;
};

void bench_attention(const FloatKernels& kernels, int d, int n_context, int n_new, int group) {
  constexpr int kHeads = 16;  // KV heads in turn
  const int n_pages = (n_context + 63) / 64;
  Pages pages(kernels, d, n_pages * kHeads);
  const int tile = n_new == 1 ? 1 : kAttendQueries / group;
  std::vector<float> q = floats(int64_t(tile) * group * d), out(q.size()), scratch(attend_scratch_floats(d) + 16);
  std::vector<int32_t> positions(tile * group);
  AttendTask task;
  task.q = q.data(), task.q_stride = d, task.n_queries = tile * group, task.positions = positions.data();
  task.head_dim = d, task.scale = 0.1f, task.out = out.data(), task.out_stride = d, task.scratch = aligned(scratch);
  int head = 0;
  const double t = seconds([&] {
    task.k_pages = &pages.k_pages[head * n_pages], task.v_pages = &pages.v_pages[head * n_pages];
    head = (head + 1) % kHeads;
    for (int first = n_context - n_new; first < n_context; first += tile) {
      for (int j = 0; j < tile * group; ++j) positions[j] = first + j / group;
      kernels.attend_f16(task);
    }
  });
  if (n_new == 1) {
    std::printf("  attention decode   d %3d  context %5d  queries %2d  %7.2f GB/s\n", d, n_context, group,
                4.0 * n_context * d / t * 1e-9);
  } else {
    const double seen = n_new * (n_context - n_new + (n_new + 1) / 2.0);
    std::printf("  attention prefill  d %3d  context %5d  tokens %4d × %d  %7.1f GFLOP/s\n", d, n_context, n_new, group,
                4.0 * seen * d * group / t * 1e-9);
  }
}

void bench_delta(const FloatKernels& kernels, int d, int n_tokens) {
  const int n_heads = n_tokens == 1 ? 2048 : 4;
  std::vector<float> m = floats(int64_t(n_heads) * d * d), rows = floats(int64_t(n_tokens) * 3 * d),
                     out(int64_t(n_tokens) * d);
  std::vector<float> gates(n_tokens, 0.9f), scratch(delta_scratch_floats(n_tokens, d) + 16);
  DeltaTask task;
  task.q = rows.data(), task.k = task.q + d, task.v = task.q + 2 * d, task.qk_stride = task.v_stride = 3 * d;
  task.decay = task.beta = gates.data(), task.gate_stride = 1, task.n_tokens = n_tokens, task.head_dim = d;
  task.value_end = d, task.eps = 1e-6f, task.out = out.data(), task.out_stride = d, task.scratch = aligned(scratch);
  int head = 0;
  const double t = seconds([&] {
    task.m = &m[int64_t(head) * d * d];
    head = (head + 1) % n_heads;
    kernels.delta(task);
  });
  std::printf("  delta              d %3d  tokens %4d  %7.2f GB/s read and written, %6.0f ns per token\n", d, n_tokens,
              8.0 * d * d / t * 1e-9, t / n_tokens * 1e9);
}

void bench_rows(const FloatKernels& kernels) {
  const int n = 2048, channels = 8192, tokens = 64;
  std::vector<float> x = floats(n), w = floats(n), out(n), one(64, 1.0f), zero(64, 0.0f), head = floats(128);
  auto print = [](const char* name, double t, double n_elements) {
    std::printf("  %-18s %7.3f ns per element\n", name, t / n_elements * 1e9);
  };
  print("rms_norm", seconds([&] { kernels.rms_norm(x.data(), w.data(), n, 1e-6f, out.data()); }), n);
  print("silu_mul", seconds([&] { kernels.silu_mul(x.data(), w.data(), n, out.data()); }), n);
  print("gelu_mul", seconds([&] { kernels.gelu_mul(x.data(), w.data(), n, out.data()); }), n);
  print("softmax", seconds([&] { kernels.softmax(out.data(), n); }), n);
  print("rope_half_split", seconds([&] { kernels.rope_half_split(one.data(), zero.data(), 128, head.data()); }), 128);
  print("rope_interleaved", seconds([&] { kernels.rope_interleaved(one.data(), zero.data(), 128, head.data()); }), 128);
  std::vector<float> rows = floats(int64_t(tokens) * channels), taps = floats(channels * 4), state(channels * 3),
                     conv(rows.size());
  for (int n_tokens : {1, tokens})
    print(n_tokens == 1 ? "conv_silu decode" : "conv_silu prefill", seconds([&] {
            kernels.conv_silu(rows.data(), channels, taps.data(), 4, channels, 0, channels, n_tokens, state.data(),
                              nullptr, conv.data(), channels);
          }),
          double(channels) * n_tokens);
}

void bench(Isa isa, std::string_view only) {
  const FloatKernels& kernels = float_kernels(isa);
  auto wanted = [only](std::string_view part) { return only.empty() || only == part; };
  std::printf("%s\n", isa_name(isa));
  for (int d : {64, 128, 256})
    if (wanted("prefill")) bench_attention(kernels, d, 512, 512, 4);
  if (wanted("prefill")) bench_attention(kernels, 256, 4096, 512, 8);
  for (int d : {64, 128, 256})
    for (int group : {1, 4, 8})
      if (wanted("decode")) bench_attention(kernels, d, 4096, 1, group);
  for (int d : {64, 128, 256})
    if (wanted("delta")) bench_delta(kernels, d, 1), bench_delta(kernels, d, 256);
  if (wanted("rows")) bench_rows(kernels);
}

}  // namespace
}  // namespace tally::cpu

int main(int argc, char** argv) {
  using tally::cpu::Isa;
  for (Isa isa : {Isa::Generic, Isa::Avx2, Isa::Avx512})
    if (isa <= tally::cpu::best_isa() && (argc < 2 || std::string_view(argv[1]) == tally::cpu::isa_name(isa)))
      tally::cpu::bench(isa, argc > 2 ? argv[2] : "");
}
