#include "plugins/cpu/kernels/bitconv/bitconv.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)             \
  namespace isa {                        \
  const BitConvKernels& bitconv_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const BitConvKernels& bitconv_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::bitconv_table,
  static constexpr const BitConvKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
