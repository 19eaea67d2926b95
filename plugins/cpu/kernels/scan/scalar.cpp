#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/scan/generic.hpp"
