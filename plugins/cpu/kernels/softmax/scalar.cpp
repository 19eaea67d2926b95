#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/softmax/generic.hpp"
