#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/fold/fold.hpp"

namespace terroir::cpu {

namespace scalar {
RowFold row_fold(RowFoldKind kind, NumberType type);
}
namespace avx2 {
RowFold row_fold(RowFoldKind kind, NumberType type);
}

RowFold row_fold(RowFoldKind kind, NumberType type, Isa isa) noexcept {
#if defined(TERROIR_HAVE_AVX2)
  if (isa >= Isa::avx2) return avx2::row_fold(kind, type);
#endif
  static_cast<void>(isa);
  return scalar::row_fold(kind, type);
}

}  // namespace terroir::cpu
