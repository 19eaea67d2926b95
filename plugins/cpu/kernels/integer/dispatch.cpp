#include "plugins/cpu/kernels/integer/integer.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)             \
  namespace isa {                        \
  const IntegerKernels& integer_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const IntegerKernels& integer_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::integer_table,
  static constexpr const IntegerKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
