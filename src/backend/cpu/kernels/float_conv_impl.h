// Short causal convolutions, written once over the vectors of simd_*.h (see float_math_impl.h).
#pragma once

#include <cstdint>

namespace tally::cpu {
namespace {

// Where the inputs of a convolution are: row s of this task for s >= 0, a row of the state (oldest first) before.
struct ConvInput {
  const float* x;
  int64_t x_stride;
  const float* state;
  int taps, channels;
};
// Lanes [c, c + n) of input s; n = kLanes: a whole vector. Gated inputs are B ⊙ X, which the state already holds.
template <bool kGated>
[[gnu::always_inline]] inline F conv_input(const ConvInput& in, int s, int c, int n) {
  auto at = [n](const float* p) { return n == kLanes ? load(p) : load(p, n); };
  if (s < 0) return at(in.state + int64_t(in.taps - 1 + s) * in.channels + c);
  const float* row = in.x + s * in.x_stride + c;
  return kGated ? at(row) * at(row + 2 * int64_t(in.channels)) : at(row);
}

// Writes the state as it is after input `last` to `out` (which may be the state itself: rows move towards the front).
template <bool kGated>
void conv_save(const ConvInput& in, int last, int c_begin, int c_end, float* out) {
  for (int i = 0; i < in.taps - 1; ++i) {
    float* row = out + int64_t(i) * in.channels;
    const int s = last - (in.taps - 2) + i;
    int c = c_begin;
    for (; c + kLanes <= c_end; c += kLanes) store(row + c, conv_input<kGated>(in, s, c, kLanes));
    if (c < c_end) store(row + c, conv_input<kGated>(in, s, c, c_end - c), c_end - c);
  }
}

constexpr int kConvChannels = 64;  // channels whose weights are held transposed at a time
constexpr int kConvTaps = 16;      // taps held at a time; convolutions with more read their weights strided

// Taps of channels [c, c + n), transposed: tap k at out[k · kConvChannels].
inline void conv_weights(const float* w, int taps, int c, int n, float* out) {
  for (int k = 0; k < taps; ++k)
    for (int i = 0; i < n; ++i) out[k * kConvChannels + i] = w[int64_t(c + i) * taps + k];
}

template <bool kGated>
void conv_block(const ConvInput& in, const float* w, int c, int n, int n_tokens, float* out, int64_t out_stride) {
  float local[kConvTaps * kConvChannels];
  const int n_local = in.taps <= kConvTaps ? in.taps : 0;
  if (n_local > 0) conv_weights(w, in.taps, c, n, local);
  for (int t = 0; t < n_tokens; ++t)
    for (int i = 0; i < n; i += kLanes) {
      const int width = n - i < kLanes ? n - i : kLanes;
      F total = zero();
      for (int k = 0; k < in.taps; ++k) {
        float strided[kLanes];
        const float* taps = local + k * kConvChannels + i;
        if (n_local == 0) {
          for (int lane = 0; lane < width; ++lane) strided[lane] = w[int64_t(c + i + lane) * in.taps + k];
          taps = strided;
        }
        const F factor = width == kLanes ? load(taps) : load(taps, width);
        total = fma(factor, conv_input<kGated>(in, t - (in.taps - 1) + k, c + i, width), total);
      }
      float* to = out + t * out_stride + c + i;
      if constexpr (kGated) {
        const float* gate = in.x + t * in.x_stride + in.channels + c + i;
        total = total * (width == kLanes ? load(gate) : load(gate, width));
      } else {
        total = silu_lanes(total);
      }
      if (width == kLanes)
        store(to, total);
      else
        store(to, total, width);
    }
}

template <bool kGated>
void conv(const float* x, int64_t x_stride, const float* w, int taps, int channels, int c_begin, int c_end,
          int n_tokens, float* state, float* const* checkpoint, float* out, int64_t out_stride) {
  const ConvInput in = {x, x_stride, state, taps, channels};
  for (int c = c_begin; c < c_end; c += kConvChannels)
    conv_block<kGated>(in, w, c, c_end - c < kConvChannels ? c_end - c : kConvChannels, n_tokens, out, out_stride);
  for (int t = 0; checkpoint != nullptr && t < n_tokens; ++t)
    if (checkpoint[t] != nullptr) conv_save<kGated>(in, t, c_begin, c_end, checkpoint[t]);
  if (n_tokens > 0) conv_save<kGated>(in, n_tokens - 1, c_begin, c_end, state);
}

}  // namespace
}  // namespace tally::cpu
