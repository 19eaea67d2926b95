#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/typed/generic.hpp"
