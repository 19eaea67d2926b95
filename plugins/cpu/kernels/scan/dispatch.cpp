#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/scan/scan.hpp"

namespace terroir::cpu {

namespace scalar {
ScanKernels scan_kernels(NumberType type);
}
namespace avx2 {
ScanKernels scan_kernels(NumberType type);
}

ScanKernels scan_kernels(NumberType type, Isa isa) noexcept {
#if defined(TERROIR_HAVE_AVX2)
  if (isa >= Isa::avx2) return avx2::scan_kernels(type);
#endif
  static_cast<void>(isa);
  return scalar::scan_kernels(type);
}

}  // namespace terroir::cpu
