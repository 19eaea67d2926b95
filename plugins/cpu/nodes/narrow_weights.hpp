#pragma once
// What: the weights of CompressedMatMul as kernels of matrix products read them, packed once for all plans.
#include <span>

#include "plugins/cpu/compressed_op.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/matmul/narrow_b.hpp"
#include "plugins/cpu/weights_cache.hpp"

namespace terroir::cpu {

class NarrowWeights {
 public:
  /// For panels of so many columns.
  NarrowWeights(const NodeContext& context, int64_t panel);

  /// Once they are packed.
  NarrowB packed() const noexcept;
  /// Without what is packed.
  const NarrowB& shape() const noexcept { return shape_; }
  /// The numbers of panels [begin, end), once they are packed.
  std::span<const std::byte> numbers(int64_t begin, int64_t end) const noexcept;
  const char* type_name() const noexcept;

 private:
  int64_t panel_;
  NarrowB shape_;
  PackedWeights numbers_, scales_, zeros_;
};

/// The matrix of weights of such a node.
CompressedMatrix compressed_matrix(const NodeContext& context);

}  // namespace terroir::cpu
