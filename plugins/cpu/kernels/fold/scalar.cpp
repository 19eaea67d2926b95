#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/fold/generic.hpp"
