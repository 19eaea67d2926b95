#include "plugins/cpu/simd/avx512_vnni.hpp"

#define TERROIR_ISA_OF_FLOATS avx512
#include "plugins/cpu/kernels/conv_bytes/finish_rows.hpp"
