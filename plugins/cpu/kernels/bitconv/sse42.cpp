#include "plugins/cpu/simd/sse42.hpp"

#include "plugins/cpu/kernels/bitconv/generic.hpp"
