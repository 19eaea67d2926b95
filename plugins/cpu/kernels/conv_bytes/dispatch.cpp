#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"

namespace terroir::cpu {

#if defined(TERROIR_HAVE_AVX512_VNNI)
namespace avx512_vnni {
const ByteConvKernels& byte_conv_table();
}
const ByteConvKernels* byte_conv_kernels() noexcept { return &avx512_vnni::byte_conv_table(); }
#else
const ByteConvKernels* byte_conv_kernels() noexcept { return nullptr; }
#endif

}  // namespace terroir::cpu
