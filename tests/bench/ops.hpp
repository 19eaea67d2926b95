// What: rows of bench_ops: one operation on tensors of a realistic size, written as a model builder would be told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "terroir/terroir.hpp"
#include "tests/bench/beside_copy.hpp"

namespace terroir::bench {

/// One input of the operation.
struct OpOperand {
  enum class Fill {
    values,   // small ones of both signs, all alike in no row
    indices,  // spread over [0, limit), never in order
    one       // `value` everywhere
  };
  element::Type type;
  Shape shape;
  Fill fill = Fill::values;
  bool constant = false;
  double value = 0;                    // of Fill::one
  int64_t limit = 1;                   // of Fill::indices
  std::vector<int64_t> integers = {};  // if any: the elements of a constant
  int64_t read = -1;                   // elements that the operation reads, where it does not read all
};

struct OpRow {
  std::string name;  // "Pad/edge"
  const char* type;
  const char* opset;
  AnyMap attributes;
  std::vector<OpOperand> operands;
  /// Of rows that are nothing but multiply-adds, two each.
  double flops = 0;
};

/// Of a whole row, but for its `flops`; nothing for most.
Work work_of(const std::string& row);

inline OpOperand tensor(Shape shape, element::Type type = element::f32) { return {type, std::move(shape)}; }
inline OpOperand weights(Shape shape, element::Type type = element::f32) {
  return {type, std::move(shape), OpOperand::Fill::values, true};
}
inline OpOperand indices(Shape shape, int64_t limit, element::Type type = element::i32) {
  return {type, std::move(shape), OpOperand::Fill::indices, false, 0, limit};
}
inline OpOperand integers(std::vector<int64_t> values) {
  return {element::i64, {values.size()}, OpOperand::Fill::one, true, 0, 1, std::move(values)};
}
inline OpOperand scalar(double value, element::Type type = element::f32) {
  return {type, {}, OpOperand::Fill::one, true, value};
}
/// A table of which only so many elements are read.
inline OpOperand table(Shape shape, int64_t read) {
  OpOperand operand = tensor(std::move(shape));
  operand.read = read;
  return operand;
}
/// The same value in every element, known when the model is compiled.
inline OpOperand same(Shape shape, double value, element::Type type = element::f32) {
  return {type, std::move(shape), OpOperand::Fill::one, true, value};
}

/// Shapes of most rows.
inline const Shape kImage{1, 64, 112, 112}, kTokens{1, 512, 768};

using OpRows = std::vector<OpRow>;

OpRows image_rows();
OpRows movement_rows();
OpRows pointwise_rows();
OpRows reduction_rows();
OpRows selection_rows();
OpRows product_rows();
OpRows recurrent_rows();

}  // namespace terroir::bench
