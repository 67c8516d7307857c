// Which table belongs to which instruction-set level, and how much scratch memory the float kernels need.
#include "backend/cpu/kernels/float_kernels.h"

namespace tally::cpu {

extern const FloatKernels kFloatKernelsGeneric, kFloatKernelsAvx2, kFloatKernelsAvx512;  // float_<level>.cc

const FloatKernels& float_kernels(Isa isa) {
  switch (isa) {
    case Isa::Generic:
      return kFloatKernelsGeneric;
    case Isa::Avx2:
      return kFloatKernelsAvx2;
    case Isa::Avx512:
      return kFloatKernelsAvx512;
  }
  return kFloatKernelsGeneric;
}

// One chunk of a page as float32, weights of one page, packed queries, and sums padded to whole vectors.
int64_t attend_scratch_floats(int head_dim) {
  const int64_t padded = (int64_t(head_dim) + 15) / 16 * 16;
  return 4096 + kAttendQueries * (64 + head_dim + padded);
}

// q and k of every token, padded to whole vectors.
int64_t delta_scratch_floats(int n_tokens, int head_dim) {
  return 2 * int64_t(n_tokens) * ((int64_t(head_dim) + 15) / 16 * 16);
}

}  // namespace tally::cpu
