#include "plugins/cpu/kernels/image/image.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)         \
  namespace isa {                    \
  const ImageKernels& image_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const ImageKernels& image_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::image_table,
  static constexpr const ImageKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
