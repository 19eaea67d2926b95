#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/typed/typed.hpp"

namespace terroir::cpu {

namespace scalar {
TileFn typed_loop(TileOp op, NumberType type);
}
namespace avx2 {
TileFn typed_loop(TileOp op, NumberType type);
}

TileFn typed_loop(TileOp op, NumberType type, Isa isa) noexcept {
#if defined(TERROIR_HAVE_AVX2)
  if (isa >= Isa::avx2) return avx2::typed_loop(op, type);
#endif
  static_cast<void>(isa);
  return scalar::typed_loop(op, type);
}

}  // namespace terroir::cpu
