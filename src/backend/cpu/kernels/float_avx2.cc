// The float kernels at the level "avx2".
#include "backend/cpu/kernels/simd_avx2.h"

#include "backend/cpu/kernels/float_math_impl.h"

#include "backend/cpu/kernels/float_attend_impl.h"
#include "backend/cpu/kernels/float_conv_impl.h"
#include "backend/cpu/kernels/float_delta_impl.h"
#include "backend/cpu/kernels/float_table_impl.h"

namespace tally::cpu {

extern const FloatKernels kFloatKernelsAvx2;
constexpr FloatKernels kFloatKernelsAvx2 = float_table();

}  // namespace tally::cpu
