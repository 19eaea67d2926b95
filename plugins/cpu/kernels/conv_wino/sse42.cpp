#include "plugins/cpu/simd/sse42.hpp"

#include "plugins/cpu/kernels/conv_wino/generic.hpp"
