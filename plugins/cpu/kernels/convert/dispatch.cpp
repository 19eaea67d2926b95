#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/convert/convert.hpp"

namespace terroir::cpu {

namespace scalar {
TileFn conversion_loop(NumberType from, NumberType to);
TileFn fake_conversion_loop(NumberType to);
}  // namespace scalar
namespace avx2 {
TileFn conversion_loop(NumberType from, NumberType to);
TileFn fake_conversion_loop(NumberType to);
}  // namespace avx2
namespace avx512 {
TileFn conversion_loop(NumberType from, NumberType to);
}

TileFn conversion_loop(NumberType from, NumberType to, Isa isa) noexcept {
#if defined(TERROIR_HAVE_AVX512)
  if (isa >= Isa::avx512)
    if (const TileFn fn = avx512::conversion_loop(from, to)) return fn;
#endif
#if defined(TERROIR_HAVE_AVX2)
  if (isa >= Isa::avx2) return avx2::conversion_loop(from, to);
#endif
  static_cast<void>(isa);
  return scalar::conversion_loop(from, to);
}

TileFn fake_conversion_loop(NumberType to, Isa isa) noexcept {
#if defined(TERROIR_HAVE_AVX2)
  if (isa >= Isa::avx2) return avx2::fake_conversion_loop(to);
#endif
  static_cast<void>(isa);
  return scalar::fake_conversion_loop(to);
}

}  // namespace terroir::cpu
