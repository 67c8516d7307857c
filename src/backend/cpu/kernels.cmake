# CPU kernels: the files in kernels/ are compiled once per instruction-set level, by suffix.
#   *_generic.cc (baseline x86-64), *_avx2.cc (x86-64-v3), *_avx512.cc (AVX-512 with VNNI)
file(GLOB cpu_kernels_avx2 CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/backend/cpu/kernels/*_avx2.cc)
file(GLOB cpu_kernels_avx512 CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/backend/cpu/kernels/*_avx512.cc)
set_source_files_properties(${cpu_kernels_avx2} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c;-mbmi2;$<$<CONFIG:Release>:-O3>")
# (GCC 12 takes the undefined pass-through operand in its own AVX-512 headers for an uninitialized variable.)
set_source_files_properties(${cpu_kernels_avx512} PROPERTIES COMPILE_OPTIONS
  "-mavx2;-mfma;-mf16c;-mbmi2;-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512vnni;-mprefer-vector-width=512;$<$<CONFIG:Release>:-O3>;-Wno-uninitialized;-Wno-maybe-uninitialized")
# In the integer products, scalar arithmetic on packed scales is meant for the integer units, which are idle there, and
# sums stay in the order written: balanced trees of them do not fit the registers.
set_property(SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/backend/cpu/kernels/linear_q8_avx2.cc
  ${CMAKE_CURRENT_SOURCE_DIR}/backend/cpu/kernels/linear_q8_avx512.cc
  APPEND PROPERTY COMPILE_OPTIONS "-fno-tree-slp-vectorize;-fno-tree-reassoc")
tally_library(cpu_kernels backend/cpu/kernels tally_ops)
