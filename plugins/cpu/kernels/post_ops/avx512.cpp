#include "plugins/cpu/simd/avx512.hpp"

#include "plugins/cpu/kernels/post_ops/generic.hpp"
