#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/sample/generic.hpp"
