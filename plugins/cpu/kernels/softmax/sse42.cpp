#include "plugins/cpu/simd/sse42.hpp"

#include "plugins/cpu/kernels/softmax/generic.hpp"
