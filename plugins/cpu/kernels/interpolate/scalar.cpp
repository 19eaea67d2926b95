#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/interpolate/generic.hpp"
