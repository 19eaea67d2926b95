#include "plugins/cpu/kernels/recurrent/recurrent.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)                 \
  namespace isa {                            \
  const RecurrentKernels& recurrent_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const RecurrentKernels& recurrent_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::recurrent_table,
  static constexpr const RecurrentKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
