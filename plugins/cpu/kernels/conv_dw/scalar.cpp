#include "plugins/cpu/simd/scalar.hpp"

#ifdef TERROIR_FEW_TILES
#define TERROIR_LANES_WITHOUT_WINDOWS 1
#endif
#include "plugins/cpu/kernels/conv_dw/generic.hpp"
