#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/functions/generic.hpp"
