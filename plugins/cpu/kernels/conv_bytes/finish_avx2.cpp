#include "plugins/cpu/simd/avx2.hpp"

#define TERROIR_ISA_OF_FLOATS avx2
#include "plugins/cpu/kernels/conv_bytes/finish_rows.hpp"
