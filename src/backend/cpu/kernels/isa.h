// Instruction-set levels of the CPU kernels, and which of them this machine and its operating system can run.
#pragma once

namespace tally::cpu {

enum class Isa {
  Generic,  // plain C++
  Avx2,     // AVX2, FMA, F16C, BMI2
  Avx512,   // and AVX-512 F, BW, VL, DQ, VNNI
};

// The best level that the processor has and the operating system saves registers for.
Isa best_isa();

const char* isa_name(Isa isa);

}  // namespace tally::cpu
