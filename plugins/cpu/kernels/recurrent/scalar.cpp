#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/recurrent/generic.hpp"
