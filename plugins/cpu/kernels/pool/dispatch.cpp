#include "plugins/cpu/kernels/pool/pool.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)       \
  namespace isa {                  \
  const PoolKernels& pool_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const PoolKernels& pool_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::pool_table,
  static constexpr const PoolKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
