#include "plugins/cpu/kernels/qconv/qconv.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)         \
  namespace isa {                    \
  const QConvKernels& qconv_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const QConvKernels& qconv_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::qconv_table,
  static constexpr const QConvKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
