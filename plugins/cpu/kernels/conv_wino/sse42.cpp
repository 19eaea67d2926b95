#include "plugins/cpu/simd/sse42.hpp"

// A processor without AVX2 convolves with stride 2 directly, and everybody saves some kilobytes.
#define TERROIR_WINO_WITHOUT_STRIDE 1
#include "plugins/cpu/kernels/conv_wino/generic.hpp"
