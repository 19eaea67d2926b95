#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"

namespace terroir::cpu {

#if defined(TERROIR_HAVE_AVX2)
namespace avx2 {
const ByteConvKernels& byte_conv_table();
void vnni_row(const ByteConvRow& row);
void vnni_depthwise_rows(const ByteConvRow& row, const ByteConvRows& rows, const ByteTaps& taps, int8_t* room);
void vnni_depthwise_words(const ByteRows& rows, uint8_t* dst);
}  // namespace avx2

namespace {

const ByteConvKernels& with_avx_vnni() noexcept {
  static const ByteConvKernels kernels = [] {
    ByteConvKernels all = avx2::byte_conv_table();
    all.bucket = "avx2_vnni";
    all.row = &avx2::vnni_row;
    all.depthwise_rows = &avx2::vnni_depthwise_rows;
    all.depthwise_words = &avx2::vnni_depthwise_words;
    all.widen = nullptr;
    all.winograd_tiles = nullptr;
    all.winograd_rows = nullptr;
    return all;
  }();
  return kernels;
}

}  // namespace
#endif
#if defined(TERROIR_HAVE_AVX512_AMX)
namespace avx512_vnni {
const ByteConvKernels& byte_conv_table();
}
namespace avx512_amx {
void byte_conv_rows(const ByteConvRow& row, const ByteConvRows& rows);
void bf16_conv_rows(const ByteConvRow& row, const ByteConvRows& rows);
}  // namespace avx512_amx
namespace avx512_bf16 {
void bf16_conv_rows(const ByteConvRow& row, const ByteConvRows& rows);
extern const ByteConvKernels::Bf16Windows kBf16OfFloats, kBf16OfBf16, kBf16OfPairs;
void pack_bf16(const Bf16Weights& weights, uint8_t* dst);
void bf16_planes(const float* src, int64_t plane, int64_t channels, int64_t numbers, int64_t positions, uint8_t* dst);
void floats_of_bf16(const uint16_t* src, float* dst, int64_t apart, int64_t positions);
void bf16_of_floats(const float* src, int64_t apart, uint16_t* dst, int64_t positions);
}  // namespace avx512_bf16

namespace {

const ByteConvKernels& with_bf16() noexcept {
  static const ByteConvKernels kernels = [] {
    ByteConvKernels all = avx512_vnni::byte_conv_table();
    all.wide_bucket = "avx512_bf16";
    all.tile_ns = 70;
    all.bf16_rows = &avx512_bf16::bf16_conv_rows;
    all.of_floats = &avx512_bf16::kBf16OfFloats;
    all.of_bf16 = &avx512_bf16::kBf16OfBf16;
    all.of_pairs = &avx512_bf16::kBf16OfPairs;
    all.bf16_planes = &avx512_bf16::bf16_planes;
    all.floats_of_bf16 = &avx512_bf16::floats_of_bf16;
    all.bf16_of_floats = &avx512_bf16::bf16_of_floats;
    all.pack_bf16 = &avx512_bf16::pack_bf16;
    return all;
  }();
  return kernels;
}

const ByteConvKernels& with_tiles() noexcept {
  static const ByteConvKernels kernels = [] {
    ByteConvKernels all = with_bf16();
    all.wide_bucket = "avx512_amx";
    all.tile_ns = 8;
    all.tiles_are_whole = true;
    all.wide_rows = &avx512_amx::byte_conv_rows;
    all.bf16_rows = &avx512_amx::bf16_conv_rows;
    return all;
  }();
  return kernels;
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
    case ByteProducts::avx2_vnni:
#if defined(TERROIR_HAVE_AVX2)
      return &with_avx_vnni();
#else
      return nullptr;
#endif
#if defined(TERROIR_HAVE_AVX512_AMX)
    case ByteProducts::avx512_vnni:
      return &avx512_vnni::byte_conv_table();
    case ByteProducts::avx512_bf16:
      return &with_bf16();
    case ByteProducts::avx512_amx:
      return &with_tiles();
#else
    case ByteProducts::avx512_vnni:
    case ByteProducts::avx512_bf16:
    case ByteProducts::avx512_amx:
      return nullptr;
#endif
  }
  return nullptr;
}

}  // namespace terroir::cpu
