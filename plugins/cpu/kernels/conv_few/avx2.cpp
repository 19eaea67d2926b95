#include "plugins/cpu/simd/avx2.hpp"

#include "plugins/cpu/kernels/conv_few/generic.hpp"
