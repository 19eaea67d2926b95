#include "plugins/cpu/kernels/dispatch_table.hpp"
#include "plugins/cpu/kernels/sample/sample.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)           \
  namespace isa {                      \
  const SampleKernels& sample_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const SampleKernels& sample_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::sample_table,
  static constexpr const SampleKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
