#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/boxes/boxes.hpp"

namespace terroir::cpu {

namespace avx2 {
const ops::reference::BoxKernels& box_table();
}
namespace avx512 {
const ops::reference::BoxKernels& box_table();
}

const ops::reference::BoxKernels* box_kernels(Isa isa) noexcept {
#if defined(TERROIR_HAVE_AVX2) && defined(TERROIR_HAVE_AVX512)
  if (isa == Isa::avx512) return &avx512::box_table();
  if (isa == Isa::avx2) return &avx2::box_table();
#endif
  static_cast<void>(isa);
  return nullptr;
}

}  // namespace terroir::cpu
