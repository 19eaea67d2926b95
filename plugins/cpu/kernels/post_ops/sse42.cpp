#include "plugins/cpu/simd/sse42.hpp"

#include "plugins/cpu/kernels/post_ops/generic.hpp"
