#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/embedding/generic.hpp"
