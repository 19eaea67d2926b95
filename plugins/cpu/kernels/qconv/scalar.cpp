#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/qconv/generic.hpp"
