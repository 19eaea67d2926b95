#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/norm/generic.hpp"
