#include "plugins/cpu/kernels/fft/fft.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)     \
  namespace isa {                \
  const FftKernels& fft_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const FftKernels& fft_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::fft_table,
  static constexpr const FftKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
