#include "plugins/cpu/kernels/dispatch_table.hpp"
#include "plugins/cpu/kernels/select/select.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)           \
  namespace isa {                      \
  const SelectKernels& select_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const SelectKernels& select_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::select_table,
  static constexpr const SelectKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
