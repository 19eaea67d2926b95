#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/conv_dw/generic.hpp"
