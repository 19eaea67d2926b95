#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/matmul/generic.hpp"
