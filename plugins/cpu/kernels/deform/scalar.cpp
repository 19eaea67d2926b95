#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/deform/generic.hpp"
