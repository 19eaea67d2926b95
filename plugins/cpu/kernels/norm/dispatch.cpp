#include "plugins/cpu/kernels/norm/norm.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)       \
  namespace isa {                  \
  const NormKernels& norm_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const NormKernels& norm_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::norm_table,
  static constexpr const NormKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
