#include "plugins/cpu/simd/avx2.hpp"

#include "plugins/cpu/kernels/conv_wino/generic.hpp"
