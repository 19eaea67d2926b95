#include "plugins/cpu/kernels/interpolate/interpolate.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)                     \
  namespace isa {                                \
  const InterpolateKernels& interpolate_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const InterpolateKernels& interpolate_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::interpolate_table,
  static constexpr const InterpolateKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
