#include "plugins/cpu/simd/sse42.hpp"

#include "plugins/cpu/kernels/image/generic.hpp"
