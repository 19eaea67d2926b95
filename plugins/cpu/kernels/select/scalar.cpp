#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/select/generic.hpp"
