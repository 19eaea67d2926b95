#include "plugins/cpu/simd/avx512.hpp"

#include "plugins/cpu/kernels/conv_planes/generic.hpp"
