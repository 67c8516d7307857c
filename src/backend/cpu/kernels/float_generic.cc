// The float kernels at the level "generic".
#include "backend/cpu/kernels/simd_generic.h"

#include "backend/cpu/kernels/float_math_impl.h"

#include "backend/cpu/kernels/float_attend_impl.h"
#include "backend/cpu/kernels/float_conv_impl.h"
#include "backend/cpu/kernels/float_delta_impl.h"
#include "backend/cpu/kernels/float_table_impl.h"

namespace tally::cpu {

extern const FloatKernels kFloatKernelsGeneric;
constexpr FloatKernels kFloatKernelsGeneric = float_table();

}  // namespace tally::cpu
