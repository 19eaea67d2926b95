#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/invert/generic.hpp"
