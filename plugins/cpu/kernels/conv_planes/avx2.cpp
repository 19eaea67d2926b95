#include "plugins/cpu/simd/avx2.hpp"

#include "plugins/cpu/kernels/conv_planes/generic.hpp"
