#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"

namespace terroir::cpu {

#if defined(TERROIR_HAVE_AVX512_AMX)
namespace avx512_vnni {
const ByteConvKernels& byte_conv_table();
}
namespace avx512_amx {
void byte_conv_rows(const ByteConvRow& row, const ByteConvRows& rows);
}

const ByteConvKernels* byte_conv_kernels(ByteProducts products) noexcept {
  if (products == ByteProducts::none) return nullptr;
  static const ByteConvKernels with_tiles = [] {
    ByteConvKernels kernels = avx512_vnni::byte_conv_table();
    kernels.wide_rows = &avx512_amx::byte_conv_rows;
    return kernels;
  }();
  return products == ByteProducts::amx ? &with_tiles : &avx512_vnni::byte_conv_table();
}
#else
const ByteConvKernels* byte_conv_kernels(ByteProducts) noexcept { return nullptr; }
#endif

}  // namespace terroir::cpu
