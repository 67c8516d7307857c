#include "backend/cpu/kernels/peak.h"

namespace tally::cpu {

const PeakKernels& peak_kernels(Isa isa) {
  switch (isa) {
    case Isa::Generic:
      return kPeakGeneric;
    case Isa::Avx2:
      return kPeakAvx2;
    case Isa::Avx512:
      return kPeakAvx512;
  }
  return kPeakGeneric;
}

}  // namespace tally::cpu
