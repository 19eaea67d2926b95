#include "plugins/cpu/kernels/dispatch_table.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"

namespace terroir::cpu {

#define TERROIR_DECLARE(isa)                                    \
  namespace isa {                                               \
  void run_post_ops(const PostOpRows&, const PostOp*, int64_t); \
  }
TERROIR_FOR_EACH_ISA(TERROIR_DECLARE)

const PostOpKernels& post_op_kernels(Isa isa) noexcept {
#define TERROIR_TABLE(isa) {&isa::run_post_ops},
  static constexpr PostOpKernels kTable[] = {TERROIR_FOR_EACH_ISA(TERROIR_TABLE)};
  return kTable[built_isa_index(isa)];
}

}  // namespace terroir::cpu
