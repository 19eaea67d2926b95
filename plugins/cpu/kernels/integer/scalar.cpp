#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/integer/generic.hpp"
