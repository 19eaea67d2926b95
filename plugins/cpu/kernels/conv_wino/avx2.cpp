#include "plugins/cpu/simd/avx2.hpp"

#include "plugins/cpu/kernels/conv_wino/generic.hpp"
// After them: they share their epilogue.
#include "plugins/cpu/kernels/conv_wino/one_axis.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase.hpp"
