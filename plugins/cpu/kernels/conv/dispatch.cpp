#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/kernels/conv/dense.hpp"
#include "plugins/cpu/kernels/conv/entry_points.hpp"
#include "plugins/cpu/kernels/conv/lanes.hpp"
#include "plugins/cpu/kernels/conv/planes.hpp"
#include "plugins/cpu/kernels/conv_few/few.hpp"
#include "plugins/cpu/kernels/conv_planes/entry_points.hpp"

namespace terroir::cpu {
namespace {

using namespace conv;

#define TERROIR_CONV_ROW(operation, layout, source, destination, reject, plan, pack, run) \
  {"f32_" #operation "_" layout TERROIR_CONV_SUFFIX,                                      \
   TERROIR_CONV_ISA,                                                                      \
   ConvFormat::source,                                                                    \
   ConvFormat::destination,                                                               \
   reject,                                                                                \
   plan,                                                                                  \
   #pack,                                                                                 \
   pack##_pieces,                                                                         \
   pack,                                                                                  \
   TERROIR_CONV_NAMESPACE::run},

#define TERROIR_CONV_FEW 1
#if TERROIR_HAVE_AVX512
#define TERROIR_CONV_BLOCKED "nChw16c"
#define TERROIR_CONV_SUFFIX "__avx512"
#define TERROIR_CONV_ISA Isa::avx512
#define TERROIR_CONV_NAMESPACE avx512
constexpr ConvKernel kAvx512[] = {
#include "plugins/cpu/kernels/conv/kernels.inc"
};
#undef TERROIR_CONV_BLOCKED
#undef TERROIR_CONV_SUFFIX
#undef TERROIR_CONV_ISA
#undef TERROIR_CONV_NAMESPACE
#endif

#define TERROIR_CONV_BLOCKED "nChw8c"
#if TERROIR_HAVE_AVX2
#define TERROIR_CONV_SUFFIX "__avx2"
#define TERROIR_CONV_ISA Isa::avx2
#define TERROIR_CONV_NAMESPACE avx2
constexpr ConvKernel kAvx2[] = {
#include "plugins/cpu/kernels/conv/kernels.inc"
};
#undef TERROIR_CONV_SUFFIX
#undef TERROIR_CONV_ISA
#undef TERROIR_CONV_NAMESPACE
#endif

#undef TERROIR_CONV_FEW
#define TERROIR_CONV_FEW 0
#if TERROIR_HAVE_SSE42
#define TERROIR_CONV_SUFFIX "__sse42"
#define TERROIR_CONV_ISA Isa::sse42
#define TERROIR_CONV_NAMESPACE sse42
constexpr ConvKernel kSse42[] = {
#include "plugins/cpu/kernels/conv/kernels.inc"
};
#undef TERROIR_CONV_SUFFIX
#undef TERROIR_CONV_ISA
#undef TERROIR_CONV_NAMESPACE
#endif

#define TERROIR_CONV_SUFFIX "__scalar"
#define TERROIR_CONV_ISA Isa::scalar
#define TERROIR_CONV_NAMESPACE scalar
constexpr ConvKernel kScalar[] = {
#include "plugins/cpu/kernels/conv/kernels.inc"
};

}  // namespace

std::span<const ConvKernel> conv_kernels(Isa isa) noexcept {
  switch (isa) {
#if TERROIR_HAVE_AVX512
    case Isa::avx512:
      return kAvx512;
#endif
#if TERROIR_HAVE_AVX2
    case Isa::avx2:
      return kAvx2;
#endif
#if TERROIR_HAVE_SSE42
    case Isa::sse42:
      return kSse42;
#endif
    case Isa::scalar:
      return kScalar;
    default:
      return {};
  }
}

}  // namespace terroir::cpu
