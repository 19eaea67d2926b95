#include "plugins/cpu/simd/avx512.hpp"

#include "plugins/cpu/kernels/conv_wino/generic.hpp"
// After them: they share their epilogue.
#include "plugins/cpu/kernels/conv_wino/one_axis.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase_2x2.hpp"
