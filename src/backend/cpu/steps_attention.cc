// Attention: norm and rope of k, append to the pages, then every (segment, KV head, tile of queries) is one task.
#include <algorithm>
#include <cstring>

#include "backend/cpu/step.h"
#include "base/checked.h"

namespace tally::cpu {

namespace {

class AttentionStep : public Step {
 public:
  AttentionStep(const PlanContext& c, const ops::Attention& o)
      : o_(o),
        state_(c.state),
        floats_(c.floats),
        q_(c.value(o.q)),
        k_(c.value(o.k)),
        v_(c.value(o.v)),
        out_(c.value(o.out)),
        q_norm_(c.floats_of(o.q_norm)),
        k_norm_(c.floats_of(o.k_norm)),
        rope_(o.rope.layout == ops::RopeLayout::None ? nullptr : c.ropes.table(o.rope, c.weights)),
        rotate_(o.rope.layout == ops::RopeLayout::Interleaved ? c.floats.rope_interleaved : c.floats.rope_half_split),
        attend_(c.exact ? c.floats.attend_f32 : c.floats.attend_f16),
        store_(c.exact ? c.floats.store_kv_f32 : c.floats.store_kv_f16),
        group_(o.n_heads / o.n_kv_heads),
        tile_tokens_(std::max(1, kAttendQueries / group_)),
        max_pages_(c.state.n_pages()) {}

  void run(const RunContext& r) noexcept override {
    store_rows(r);
    r.team.barrier();
    int64_t task = 0;
    for (int s = 0; s < r.batch.n_segments; ++s)
      for (int t = r.batch.segment_start[s]; t < r.batch.segment_start[s + 1]; t += tile_tokens_)
        for (int h = 0; h < o_.n_kv_heads; ++h, ++task)
          if (task % r.n_workers == r.worker)
            attend(r, s, t, std::min(tile_tokens_, r.batch.segment_start[s + 1] - t), h);
  }
  // Queries and results of a tile, page pointers, and the kernel's own scratch.
  uint64_t own_scratch() const override {
    return 2 * tile_bytes() + 64 + round_up(2 * sizeof(void*) * max_pages_, 64) +
           attend_scratch_floats(o_.head_dim) * sizeof(float);
  }

 private:
  int tile_queries() const { return tile_tokens_ * group_; }
  uint64_t tile_bytes() const {
    return round_up(uint64_t(std::max(tile_queries(), kAttendQueries)) * (o_.head_dim + 1) * sizeof(float), 64);
  }

  void rotate(int position, float* head) const noexcept {
    if (rope_) rotate_(rope_->cos_of(position), rope_->sin_of(position), rope_->rope.dim, head);
  }

  void store_rows(const RunContext& r) noexcept {
    const ops::Batch& b = r.batch;
    int d = o_.head_dim;
    float* k = reinterpret_cast<float*>(r.own);
    Range items = share(int64_t(b.n_tokens) * o_.n_kv_heads, r.worker, r.n_workers);
    int s = 0;
    for (int64_t i = items.begin; i < items.end; ++i) {
      int t = static_cast<int>(i / o_.n_kv_heads), h = static_cast<int>(i % o_.n_kv_heads);
      while (t >= b.segment_start[s + 1]) ++s;
      const float* k_in = k_ + i * d;
      if (o_.k_norm)
        floats_.rms_norm(k_in, k_norm_.data(), d, o_.eps, k);
      else
        std::memcpy(k, k_in, d * sizeof(float));
      rotate(b.positions[t], k);
      int page = b.page_table[int64_t(s) * b.max_pages + b.positions[t] / ops::kPageTokens];
      store_(k, v_ + i * d, d, b.positions[t] % ops::kPageTokens, state_.k_page(o_.pages, page, h),
             state_.v_page(o_.pages, page, h));
    }
  }

  // Queries [first, first + n) tokens × the heads of one KV head.
  void attend(const RunContext& r, int s, int first, int n, int kv_head) noexcept {
    const ops::Batch& b = r.batch;
    int d = o_.head_dim, stride = o_.gated ? 2 * d : d;
    float* q = reinterpret_cast<float*>(r.own);
    float* out = reinterpret_cast<float*>(r.own + tile_bytes());
    int32_t* positions = reinterpret_cast<int32_t*>(out + int64_t(tile_queries()) * d);
    const void** k_pages = reinterpret_cast<const void**>(r.own + 2 * tile_bytes());
    const void** v_pages = k_pages + max_pages_;
    char* scratch = r.own + 2 * tile_bytes() + round_up(2 * sizeof(void*) * max_pages_, 64);
    int last_page = b.positions[first + n - 1] / ops::kPageTokens;
    for (int p = 0; p <= last_page; ++p) {
      int page = b.page_table[int64_t(s) * b.max_pages + p];
      k_pages[p] = state_.k_page(o_.pages, page, kv_head);
      v_pages[p] = state_.v_page(o_.pages, page, kv_head);
    }
    for (int t = 0, j = 0; t < n; ++t)
      for (int g = 0; g < group_; ++g, ++j) {
        const float* q_in = q_ + (int64_t(first + t) * o_.n_heads + kv_head * group_ + g) * stride;
        positions[j] = b.positions[first + t];
        if (o_.q_norm)
          floats_.rms_norm(q_in, q_norm_.data(), d, o_.eps, q + int64_t(j) * d);
        else
          std::memcpy(q + int64_t(j) * d, q_in, d * sizeof(float));
        rotate(positions[j], q + int64_t(j) * d);
      }
    int n_queries = n * group_;
    for (int j = 0; j < n_queries;
         j += kAttendQueries)  // more than one task only where a group has more heads than a task
      attend_({q + int64_t(j) * d, d, std::min(kAttendQueries, n_queries - j), positions + j, k_pages, v_pages, d,
               o_.window, o_.scale, out + int64_t(j) * d, d, reinterpret_cast<float*>(scratch)});
    for (int t = 0, j = 0; t < n; ++t)
      for (int g = 0; g < group_; ++g, ++j) {
        int64_t head = int64_t(first + t) * o_.n_heads + kv_head * group_ + g;
        std::memcpy(out_ + head * d, out + int64_t(j) * d, d * sizeof(float));
        if (o_.gated) floats_.sigmoid_mul(q_ + head * stride + d, d, out_ + head * d);
      }
  }

  ops::Attention o_;
  CpuState& state_;
  const FloatKernels& floats_;
  const float *q_, *k_, *v_;
  float* out_;
  std::vector<float> q_norm_, k_norm_;
  const RopeTable* rope_;
  decltype(FloatKernels::rope_half_split) rotate_;
  decltype(FloatKernels::attend_f16) attend_;
  decltype(FloatKernels::store_kv_f16) store_;
  int group_, tile_tokens_, max_pages_;
};

int covers_attention(const PlanContext& c, int i) {
  const ops::Attention* o = c.op<ops::Attention>(i);
  return o && o->head_dim % 8 == 0 && o->head_dim <= 512;
}
std::unique_ptr<Step> bind_attention(const PlanContext& c, int i, int) {
  return std::make_unique<AttentionStep>(c, *c.op<ops::Attention>(i));
}

int covers_f16(const PlanContext& c, int i) { return c.exact ? 0 : covers_attention(c, i); }

}  // namespace

std::vector<Kernel> attention_kernels() {
  return {{"attention_f16", false, covers_f16, bind_attention},
          {"attention_f32", true, covers_attention, bind_attention}};
}

}  // namespace tally::cpu
