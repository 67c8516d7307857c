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

constexpr int kConvChannels = 256;  // channels per block: their weights are held transposed
constexpr int kConvTaps = 8;        // the most taps that are held; convolutions with more go one channel at a time

// Weights of tap k and channels [c, c + n); the lanes past n are zero.
[[gnu::always_inline]] inline F conv_weights(const float* w, int taps, int k, int c, int n) {
  const float* first = w + int64_t(c) * taps + k;
  if (n == kLanes) return gather(first, taps);
  float lanes[kLanes] = {};
  for (int i = 0; i < n; ++i) lanes[i] = first[int64_t(i) * taps];
  return load(lanes);
}

// The inputs of one token's taps: rows of channels, each times its factor row where there is one.
struct ConvRows {
  const float* x[kConvTaps];
  const float* factor[kConvTaps];
};
template <bool kGated>
ConvRows conv_rows(const ConvInput& in, int t) {
  ConvRows rows = {};
  for (int k = 0; k < in.taps; ++k) {
    const int s = t - (in.taps - 1) + k;
    rows.x[k] = s < 0 ? in.state + int64_t(in.taps - 1 + s) * in.channels : in.x + s * in.x_stride;
    rows.factor[k] = kGated && s >= 0 ? rows.x[k] + 2 * int64_t(in.channels) : nullptr;
  }
  return rows;
}

// Lanes [c, c + n) of one token's sum; held: tap k of these lanes at held[k · kConvChannels].
template <bool kGated>
[[gnu::always_inline]] inline F conv_sum(const ConvRows& rows, int taps, const float* held, int c, int n) {
  auto at = [c, n](const float* p) { return n == kLanes ? load(p + c) : load(p + c, n); };
  F total = zero();
  for (int k = 0; k < taps; ++k) {
    F x = at(rows.x[k]);
    if (kGated && rows.factor[k] != nullptr) x = x * at(rows.factor[k]);
    total = fma(load(held + k * kConvChannels), x, total);
  }
  return total;
}

template <bool kGated>
void conv_block(const ConvInput& in, const float* w, int begin, int end, int n_tokens, float* out, int64_t out_stride) {
  float held[kConvTaps * kConvChannels];
  for (int k = 0; k < in.taps; ++k)
    for (int c = begin; c < end; c += kLanes)
      store(held + k * kConvChannels + (c - begin),
            conv_weights(w, in.taps, k, c, end - c < kLanes ? end - c : kLanes));
  for (int t = 0; t < n_tokens; ++t) {
    const ConvRows rows = conv_rows<kGated>(in, t);
    const float* gate = kGated ? in.x + t * in.x_stride + in.channels + begin : nullptr;
    float* to = out + t * out_stride + begin;
    int c = begin;
    for (; c + kLanes <= end; c += kLanes) {
      const F total = conv_sum<kGated>(rows, in.taps, held + (c - begin), c, kLanes);
      store(to + (c - begin), kGated ? total * load(gate + (c - begin)) : silu_lanes(total));
    }
    if (const int n = end - c; n > 0) {
      const F total = conv_sum<kGated>(rows, in.taps, held + (c - begin), c, n);
      store(to + (c - begin), kGated ? total * load(gate + (c - begin), n) : silu_lanes(total), n);
    }
  }
}

// One channel, any number of taps.
template <bool kGated>
void conv_channel(const ConvInput& in, const float* w, int c, int n_tokens, float* out, int64_t out_stride) {
  for (int t = 0; t < n_tokens; ++t) {
    F total = zero();
    for (int k = 0; k < in.taps; ++k)
      total = fma(set(w[int64_t(c) * in.taps + k]), conv_input<kGated>(in, t - (in.taps - 1) + k, c, 1), total);
    const F gate = kGated ? set(in.x[t * in.x_stride + in.channels + c]) : zero();
    store(out + t * out_stride + c, kGated ? total * gate : silu_lanes(total), 1);
  }
}

template <bool kGated>
void conv(const float* x, int64_t x_stride, const float* w, int taps, int channels, int c_begin, int c_end,
          int n_tokens, float* state, float* const* checkpoint, float* out, int64_t out_stride) {
  const ConvInput in = {x, x_stride, state, taps, channels};
  if (taps <= kConvTaps) {
    for (int c = c_begin; c < c_end; c += kConvChannels)
      conv_block<kGated>(in, w, c, c_end - c < kConvChannels ? c_end : c + kConvChannels, n_tokens, out, out_stride);
  } else {
    for (int c = c_begin; c < c_end; ++c) conv_channel<kGated>(in, w, c, n_tokens, out, out_stride);
  }
  for (int t = 0; checkpoint != nullptr && t < n_tokens; ++t)
    if (checkpoint[t] != nullptr) conv_save<kGated>(in, t, c_begin, c_end, checkpoint[t]);
  if (n_tokens > 0) conv_save<kGated>(in, n_tokens - 1, c_begin, c_end, state);
}

}  // namespace
}  // namespace tally::cpu
