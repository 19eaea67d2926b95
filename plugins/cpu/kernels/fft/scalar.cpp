#include "plugins/cpu/simd/scalar.hpp"

#include "plugins/cpu/kernels/fft/generic.hpp"
