#include "plugins/cpu/simd/avx512.hpp"

#include "plugins/cpu/kernels/conv_wino/generic.hpp"
// After them: it shares their epilogue.
#include "plugins/cpu/kernels/conv_wino/polyphase.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase_2x2.hpp"
