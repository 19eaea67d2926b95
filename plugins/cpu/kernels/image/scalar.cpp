#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/image/generic.hpp"
