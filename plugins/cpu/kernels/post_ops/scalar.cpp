#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/post_ops/generic.hpp"
