#include "plugins/cpu/kernels/embedding/embedding.hpp"

#include "plugins/cpu/kernels/dispatch_table.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)                 \
  namespace isa {                            \
  const EmbeddingKernels& embedding_table(); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const EmbeddingKernels& embedding_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) &isa::embedding_table,
  static constexpr const EmbeddingKernels& (*kTables[])() = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTables[built_isa_index(isa)]();
}

}  // namespace terroir::cpu
