#include "plugins/cpu/simd/avx2.hpp"

#include "plugins/cpu/kernels/post_ops/generic.hpp"
