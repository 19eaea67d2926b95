#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/reduce/generic.hpp"
