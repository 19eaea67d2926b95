#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/convert/generic.hpp"
