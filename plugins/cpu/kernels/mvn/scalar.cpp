#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/mvn/generic.hpp"
