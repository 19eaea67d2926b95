#include "plugins/cpu/kernels/mvn/mvn.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)     \
  namespace isa {                \
  const MvnKernels& mvn_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const MvnKernels& mvn_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::mvn_table,
  static constexpr const MvnKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
