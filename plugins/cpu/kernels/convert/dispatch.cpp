#include "plugins/cpu/kernels/convert/convert.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)             \
  namespace isa {                        \
  const ConvertKernels& convert_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const ConvertKernels& convert_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::convert_table,
  static constexpr const ConvertKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
