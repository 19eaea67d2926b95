#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/conv_wino/generic.hpp"
