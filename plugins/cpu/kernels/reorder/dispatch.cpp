#include "plugins/cpu/kernels/reorder/reorder.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)             \
  namespace isa {                        \
  const ReorderKernels& reorder_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const ReorderKernels& reorder_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::reorder_table,
  static constexpr const ReorderKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
