// Kernels in float32 beside the matrix products: attention over pages, delta rule, convolution, norms, activations.
// Pure functions over pointers, one table per instruction-set level. The result for one row (token, query, head) never
// depends on how many rows are handed in together: verifying drafted tokens equals decoding them, bit for bit.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/isa.h"

namespace tally::cpu {

// Attention of n_queries query rows of one KV head over a sequence's pages. A page holds 64 tokens of one KV head:
// K transposed [head_dim][64], V [64][head_dim], as half floats or as float32.
struct AttendTask {
  const float* q = nullptr;  // query j at q + j·q_stride: [head_dim], normed and roped
  int64_t q_stride = 0;
  int n_queries = 0;
  const int32_t* positions = nullptr;    // [n_queries] absolute position of each query (sees positions ≤ it)
  const void* const* k_pages = nullptr;  // page p of the sequence at k_pages[p]
  const void* const* v_pages = nullptr;
  int head_dim = 0;  // multiple of 8; up to 512
  int window = 0;    // 0: all; else only keys u with position − u < window
  float scale = 0;
  float* out = nullptr;  // query j at out + j·out_stride: [head_dim]
  int64_t out_stride = 0;
  float* scratch = nullptr;  // [attend_scratch_floats(head_dim)] per worker, 64-byte aligned
};
constexpr int kAttendQueries = 32;  // most queries per task
int64_t attend_scratch_floats(int head_dim);

// The recurrence of one value head over n_tokens tokens (op.h, GatedDelta), state m[head_dim(value)][head_dim(key)].
struct DeltaTask {
  const float* q = nullptr;  // token t at q + t·qk_stride: [head_dim], as it leaves the convolution (not normalised)
  const float* k = nullptr;
  int64_t qk_stride = 0;
  const float* v = nullptr;  // token t at v + t·v_stride
  int64_t v_stride = 0;
  const float* decay = nullptr;  // token t at decay[t·gate_stride]: exp(g)
  const float* beta = nullptr;   // token t at beta[t·gate_stride], after the sigmoid
  int64_t gate_stride = 0;
  int n_tokens = 0, head_dim = 0;      // head_dim: multiple of 8, up to 256
  int value_begin = 0, value_end = 0;  // rows of m to compute (value indices)
  float eps = 0;
  float* m = nullptr;
  float* out = nullptr;  // token t at out + t·out_stride: [head_dim]
  int64_t out_stride = 0;
  float* const* checkpoint = nullptr;  // null, or [n_tokens]: where to also write m after token t (null: nowhere)
  float* scratch = nullptr;            // [delta_scratch_floats(n_tokens, head_dim)], 64-byte aligned
};
int64_t delta_scratch_floats(int n_tokens, int head_dim);  // normalised q and k of all tokens, and what else is needed

struct FloatKernels {
  void (*attend_f16)(const AttendTask&);
  void (*attend_f32)(const AttendTask&);
  // Appends one token's k and v of one KV head at index i (0..63) of a page.
  void (*store_kv_f16)(const float* k, const float* v, int head_dim, int i, void* k_page, void* v_page);
  void (*store_kv_f32)(const float* k, const float* v, int head_dim, int i, void* k_page, void* v_page);
  void (*delta)(const DeltaTask&);
  // Causal convolution of channels [c_begin, c_end) over n_tokens, then SiLU: x token t at x + t·x_stride; w[channels ×
  // taps] (last tap = current token); state[(taps − 1) × channels], oldest first, updated; checkpoint as in DeltaTask
  // (of state).
  void (*conv_silu)(const float* x, int64_t x_stride, const float* w, int taps, int channels, int c_begin, int c_end,
                    int n_tokens, float* state, float* const* checkpoint, float* out, int64_t out_stride);
  // x = [B | C | X] of channels each: out = C ⊙ conv(B ⊙ X), state holds B ⊙ X.
  void (*conv_gated)(const float* x, int64_t x_stride, const float* w, int taps, int channels, int c_begin, int c_end,
                     int n_tokens, float* state, float* const* checkpoint, float* out, int64_t out_stride);
  void (*rms_norm)(const float* x, const float* w, int n, float eps, float* out);      // out may be x
  void (*rms_norm_add)(const float* x, const float* w, int n, float eps, float* out);  // out += norm
  void (*rms_norm_silu)(const float* x, const float* w, const float* z, int n, float eps,
                        float* out);                                            // norm ⊙ silu(z)
  void (*silu_mul)(const float* gate, const float* up, int64_t n, float* out);  // out may be gate or up
  void (*gelu_mul)(const float* gate, const float* up, int64_t n, float* out);  // tanh form
  void (*sigmoid_mul)(const float* gate, int64_t n, float* x);                  // x ⊙= sigmoid(gate)
  void (*add_scaled)(const float* x, float factor, int64_t n, float* out);      // out += factor · x
  void (*softmax)(float* x, int n);                                             // in place
  // Rotates pairs by cos/sin [dim / 2] (magnitude included) in place; interleaved pairs (2p, 2p+1) or halves (p, p +
  // dim/2).
  void (*rope_interleaved)(const float* cos, const float* sin, int dim, float* head);
  void (*rope_half_split)(const float* cos, const float* sin, int dim, float* head);
  double (*dot)(const float* a, const float* b, int64_t n);
  float (*max)(const float* x, int64_t n);
};
const FloatKernels& float_kernels(Isa isa);

}  // namespace tally::cpu
