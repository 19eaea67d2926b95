#include "plugins/cpu/simd/avx512.hpp"

#include "plugins/cpu/kernels/boxes/generic.hpp"
