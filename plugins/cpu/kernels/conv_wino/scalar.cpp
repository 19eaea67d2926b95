// Nothing where there is a better bucket; see dispatch.cpp.
#if !TERROIR_HAVE_SSE42
#include "plugins/cpu/simd/scalar.hpp"
#define TERROIR_WINO_WITHOUT_STRIDE 1
// After its bucket.
#include "plugins/cpu/kernels/conv_wino/generic.hpp"
#endif
