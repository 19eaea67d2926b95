#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/invert/invert.hpp"

namespace terroir::cpu {

namespace scalar {
InvertKernels invert_kernels();
}
namespace avx2 {
InvertKernels invert_kernels();
}
namespace avx512 {
InvertKernels invert_kernels();
}

InvertKernels invert_kernels(Isa isa) noexcept {
#if defined(TERROIR_HAVE_AVX512)
  if (isa >= Isa::avx512) return avx512::invert_kernels();
#endif
#if defined(TERROIR_HAVE_AVX2)
  if (isa >= Isa::avx2) return avx2::invert_kernels();
#endif
  static_cast<void>(isa);
  return scalar::invert_kernels();
}

}  // namespace terroir::cpu
