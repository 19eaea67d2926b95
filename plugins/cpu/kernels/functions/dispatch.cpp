#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/functions/functions.hpp"

namespace terroir::cpu {

namespace scalar {
TileFn function_loop(Function function);
}
namespace avx2 {
TileFn function_loop(Function function);
}
namespace avx512 {
TileFn function_loop(Function function);
}

TileFn function_loop(Function function, Isa isa) noexcept {
#if defined(TERROIR_HAVE_AVX512)
  if (isa >= Isa::avx512) return avx512::function_loop(function);
#endif
#if defined(TERROIR_HAVE_AVX2)
  if (isa >= Isa::avx2) return avx2::function_loop(function);
#endif
  static_cast<void>(isa);
  return scalar::function_loop(function);
}

}  // namespace terroir::cpu
