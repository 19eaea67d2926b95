#pragma once
// What: CompressedMatMul of the set "cpu", made by the pass compress_products: MatMul whose matrix of weights stays in
//   whole numbers of 8 or 4 bits.
//     data f32, numbers i8, u8, i4 or u4, scales f32, zeros f32 if there are some, operands of the chain f32 -> f32.
//     The base op's result for data and (numbers - zeros) * scales, computed and rounded as f32, through the chain.
// Shapes: numbers [outputs, inputs], or [inputs, outputs] if the base op does not transpose them; in groups of inputs
//   that share scales and zeros [outputs, groups, group] or [groups, group, outputs]. Scales and zeros have the rank of
//   the numbers, 1 along `group` (along the inputs without groups), 1 or the same extent along other axes.
#include <optional>

#include "ir/graph/graph.hpp"
#include "ir/schema/op_schema.hpp"
#include "plugins/cpu/fused_attrs.hpp"

namespace terroir::cpu {

inline constexpr std::string_view kCompressedMatMulType = "CompressedMatMul";

struct CompressedAttrs {
  FusedAttrs fused;  // base_inputs counts data and numbers; scales and zeros come next
  bool has_zeros = false;

  int parameters() const { return has_zeros ? 2 : 1; }

  template <class V>
  void visit(V& v) {
    fused.visit(v);
    v("has_zeros", has_zeros);
  }
};

/// The weights of such a node.
class CompressedMatrix {
 public:
  /// `in_rows`: of outputs, as the base op that transposes them has it. Null where shapes or types are others than the
  /// operation has. Views are kept.
  static std::optional<CompressedMatrix> from(bool in_rows, const ir::TensorView& numbers, const ir::TensorView& scales,
                                              const ir::TensorView* zeros);

  element::Type type() const { return numbers_.type; }
  bool in_rows() const { return in_rows_; }
  int64_t outputs() const { return outputs_; }
  int64_t inputs() const { return groups_ * group_; }
  int64_t groups() const { return groups_; }
  int64_t group() const { return group_; }
  bool has_zeros() const { return zeros_.has_value(); }
  /// [outputs, inputs] or [inputs, outputs].
  ir::Dims matrix_dims() const;
  /// Where the number for an output and an input is, in elements.
  int64_t place(int64_t output, int64_t input) const {
    return in_rows_ ? output * inputs() + input : input * outputs_ + output;
  }
  float scale(int64_t output, int64_t group) const { return at(scales_, output, group); }
  float zero(int64_t output, int64_t group) const { return zeros_ ? at(*zeros_, output, group) : 0; }

 private:
  CompressedMatrix(bool in_rows, const ir::TensorView& numbers) : in_rows_(in_rows), numbers_(numbers) {}
  bool fits(const ir::TensorView& parameter) const;
  float at(const ir::TensorView& parameter, int64_t output, int64_t group) const;

  bool in_rows_;
  ir::TensorView numbers_, scales_;
  std::optional<ir::TensorView> zeros_;
  int64_t outputs_ = 0, groups_ = 1, group_ = 0;
};

/// The element at `place` of numbers that begin at `numbers`, as CompressedMatrix has types.
int32_t compressed_number(const void* numbers, element::Type type, int64_t place);

/// Of a CompressedMatMul; its constants must be there.
std::optional<CompressedMatrix> compressed_matrix(const CompressedAttrs& attrs,
                                                  const std::vector<const ir::Constant*>& constants);

ir::OpSchema compressed_schema();

}  // namespace terroir::cpu
