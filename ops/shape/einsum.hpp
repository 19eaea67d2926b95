#pragma once
// What: equations of Einsum.
// Formula: "ab,b...->a..."; a letter names an axis, "..." stands for any number of axes, aligned at their ends. Without
// "->" the output has the axes of the ellipsis, then the letters that occur once, capitals first.
// Source: operation page Einsum-7.
#include <cstdint>
#include <string>
#include <string_view>
#include <terroir/partial_shape.hpp>
#include <vector>

#include "ir/schema/attributes.hpp"

namespace terroir::ops {

struct EinsumAttrs {
  std::string equation;

  template <class V>
  void visit(V& v) {
    v("equation", equation, ir::Presence::required);
  }
};

/// An axis name: the code of a letter, or 256 + k for the k-th axis of an ellipsis counted from its end.
using EinsumLabel = int;
using EinsumLabels = std::vector<EinsumLabel>;

class EinsumEquation {
 public:
  /// Exception that points at what is wrong.
  explicit EinsumEquation(std::string_view text);

  size_t operands() const { return inputs_.size(); }
  bool output_has_ellipsis() const { return ellipsis_of(output_) != kNone; }
  /// Letters and, as kEllipsis, the dots of one operand.
  bool input_has_ellipsis(size_t operand) const { return ellipsis_of(inputs_[operand]) != kNone; }

  /// One label per axis of an operand of that rank; Exception when the subscript does not cover it.
  EinsumLabels input_labels(size_t operand, int64_t rank) const;
  /// `ellipsis_rank`: the longest ellipsis among the inputs.
  EinsumLabels output_labels(int64_t ellipsis_rank) const { return expand(output_, ellipsis_rank); }
  /// Axes the dots of an operand of that rank stand for; 0 without dots.
  int64_t ellipsis_rank(size_t operand, int64_t rank) const;

 private:
  static constexpr EinsumLabel kEllipsis = 0;
  static constexpr size_t kNone = static_cast<size_t>(-1);
  static size_t ellipsis_of(const EinsumLabels& labels);
  static EinsumLabels expand(const EinsumLabels& labels, int64_t ellipsis_rank);
  EinsumLabels parse_subscript(std::string_view text, bool is_output) const;

  std::string text_;
  std::vector<EinsumLabels> inputs_;
  EinsumLabels output_;
};

/// The shape of the result. Exception when ranks or extents do not fit the equation.
PartialShape einsum_shape(const EinsumEquation& equation, const std::vector<PartialShape>& shapes);

}  // namespace terroir::ops
