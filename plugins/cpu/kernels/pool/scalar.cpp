#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/pool/generic.hpp"
