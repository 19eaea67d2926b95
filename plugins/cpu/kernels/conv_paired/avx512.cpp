#include "plugins/cpu/simd/avx512.hpp"

#include "plugins/cpu/kernels/conv_paired/generic.hpp"
