// What: the words of the avx512 bucket under a name of their own, for kernels of AMX: tiles of 16 rows of 64 bytes. The
// instructions are the compiler's own words (_tile_loadd, _tile_dpbusd ...).
// Only for files compiled with the flags of the bucket avx512_amx.
#pragma once

#define xsimd xsimd_avx512_amx
#define TERROIR_ISA avx512_amx

#include "plugins/cpu/simd/avx512.hpp"
