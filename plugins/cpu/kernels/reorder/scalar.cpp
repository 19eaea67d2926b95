#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/reorder/generic.hpp"
