#include "plugins/cpu/kernels/deform/deform.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)           \
  namespace isa {                      \
  const DeformKernels& deform_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const DeformKernels& deform_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::deform_table,
  static constexpr const DeformKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
