#include "plugins/cpu/simd/scalar.hpp"

#if TERROIR_HAVE_SSE42
// Processors that lack the next bucket are older than 2009: theirs take longer, and everybody saves fifty kilobytes.
#define TERROIR_LANES_WITHOUT_WINDOWS 1
#endif
#include "plugins/cpu/kernels/conv_dw/generic.hpp"
