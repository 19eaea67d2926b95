#pragma once
// What: whether this machine has the vectors that Winograd's algorithm and what is fused with it need.
#include "plugins/cpu/isa.hpp"

namespace terroir::test {

inline bool vectors() { return cpu::isa_available(cpu::Isa::avx2); }
inline constexpr const char* kNoVectors = "no kernels of Winograd's algorithm here";

}  // namespace terroir::test
