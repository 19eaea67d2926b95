#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"

namespace terroir::cpu {

#if defined(TERROIR_HAVE_AVX2)
namespace avx2 {
const ByteConvKernels& byte_conv_table();
}
#endif
#if defined(TERROIR_HAVE_AVX512_AMX)
namespace avx512_vnni {
const ByteConvKernels& byte_conv_table();
}
namespace avx512_amx {
void byte_conv_rows(const ByteConvRow& row, const ByteConvRows& rows);
void bf16_conv_rows(const ByteConvRow& row, const ByteConvRows& rows);
extern const ByteConvKernels::Bf16Windows kBf16OfFloats, kBf16OfBf16, kBf16OfPairs;
void pack_bf16(const Bf16Weights& weights, uint8_t* dst);
void bf16_planes(const float* src, int64_t plane, int64_t channels, int64_t numbers, int64_t positions, uint8_t* dst);
void floats_of_bf16(const uint16_t* src, float* dst, int64_t apart, int64_t positions);
void bf16_of_floats(const float* src, int64_t apart, uint16_t* dst, int64_t positions);
}  // namespace avx512_amx

namespace {

const ByteConvKernels* kernels_of_bytes(ByteProducts products) noexcept {
  static const ByteConvKernels with_tiles = [] {
    ByteConvKernels kernels = avx512_vnni::byte_conv_table();
    kernels.wide_rows = &avx512_amx::byte_conv_rows;
    kernels.bf16_rows = &avx512_amx::bf16_conv_rows;
    kernels.of_floats = &avx512_amx::kBf16OfFloats;
    kernels.pack_bf16 = &avx512_amx::pack_bf16;
    kernels.bf16_planes = &avx512_amx::bf16_planes;
    kernels.floats_of_bf16 = &avx512_amx::floats_of_bf16;
    kernels.bf16_of_floats = &avx512_amx::bf16_of_floats;
    kernels.of_pairs = &avx512_amx::kBf16OfPairs;
    kernels.of_bf16 = &avx512_amx::kBf16OfBf16;
    return kernels;
  }();
  return products == ByteProducts::amx ? &with_tiles : &avx512_vnni::byte_conv_table();
}
}  // namespace
#endif

const ByteConvKernels* byte_conv_kernels(ByteProducts products) noexcept {
  switch (products) {
    case ByteProducts::none:
      return nullptr;
    case ByteProducts::avx2:
#if defined(TERROIR_HAVE_AVX2)
      return &avx2::byte_conv_table();
#else
      return nullptr;
#endif
    case ByteProducts::vnni:
    case ByteProducts::amx:
#if defined(TERROIR_HAVE_AVX512_AMX)
      return kernels_of_bytes(products);
#else
      return nullptr;
#endif
  }
  return nullptr;
}

}  // namespace terroir::cpu
