#include "plugins/cpu/simd/avx512.hpp"

#include "plugins/cpu/kernels/invert/generic.hpp"
