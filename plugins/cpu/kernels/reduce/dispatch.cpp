#include "plugins/cpu/kernels/reduce/reduce.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)           \
  namespace isa {                      \
  const ReduceKernels& reduce_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const ReduceKernels& reduce_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::reduce_table,
  static constexpr const ReduceKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
