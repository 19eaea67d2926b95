#include "plugins/cpu/simd/avx2.hpp"

#include "plugins/cpu/kernels/boxes/generic.hpp"
