#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/bitconv/generic.hpp"
