#include "plugins/cpu/kernels/softmax/softmax.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)             \
  namespace isa {                        \
  const SoftmaxKernels& softmax_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const SoftmaxKernels& softmax_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::softmax_table,
  static constexpr const SoftmaxKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
