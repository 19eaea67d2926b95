#pragma once
// What: broadcasting of elementwise operands: the attribute as IR files spell it, the shape of the result, and the walk
// over elements that every reference kernel with several operands uses.
// Formula: numpy: operands are aligned at the last axis; extents are equal or one of them is 1.
//          pdpd: operand 1 is placed at `axis` of operand 0 (-1: aligned at the end), only it is stretched; its
//          trailing ones do not count. none: extents are equal.
// Source: OpenVINO's page "Broadcast rules for elementwise operations".
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <terroir/partial_shape.hpp>

#include "ir/base/tensor_view.hpp"
#include "ir/schema/attributes.hpp"

namespace terroir::ops {

/// `explicit_equal` is the former name of `none` and is kept as it was read.
enum class AutoBroadcast { none, numpy, pdpd, explicit_equal };

/// How two operands meet.
struct BroadcastRule {
  AutoBroadcast kind = AutoBroadcast::numpy;
  int64_t axis = -1;  // for pdpd

  template <class V>
  void visit(V& v) {
    v("auto_broadcast", kind);
    // Files carry the axis only where it means something.
    if (kind == AutoBroadcast::pdpd) v("auto_broadcast.auto_broadcast_axis", axis);
  }
};

/// The result of broadcasting `b` to `a` (numpy: both to each other). Exception that prints both shapes and the rule.
PartialShape broadcast_shape(const PartialShape& a, const PartialShape& b, const BroadcastRule& rule);

/// Extents of operand `b` written with as many axes as `a`, so that both align at the last axis.
ir::Dims align_operand(const ir::Dims& a_dims, const ir::Dims& b_dims, const BroadcastRule& rule);

/// Extents of PReLU's slope written so that it aligns with `data` at the last axis: a vector as long as the channel
/// axis (1, or 0 of a vector) belongs to that axis, anything else follows numpy's rule.
ir::Dims align_prelu_slope(const ir::Dims& data, const ir::Dims& slope);

/// Visits the elements of a row-major shape together with the elements of operands that broadcast to it by numpy's
/// rule. Axes over which all operands advance alike are merged, so the innermost run is long. Usage:
///   for (BroadcastWalk walk(out, {a, b}); walk.more(); walk.next())
///     for (int64_t i = 0; i < walk.run(); ++i)
///       dst[walk.position() + i] = f(a[walk.offset(0) + i * walk.step(0)], b[walk.offset(1) + i * walk.step(1)]);
class BroadcastWalk {
 public:
  static constexpr size_t kMaxOperands = 3;

  /// Exception when an operand does not broadcast to `dims`.
  BroadcastWalk(const ir::Dims& dims, std::initializer_list<ir::Dims> operands);

  bool more() const { return position_ < count_; }
  void next();
  int64_t position() const { return position_; }
  /// Elements of one run; at least 1.
  int64_t run() const { return run_; }
  int64_t offset(size_t operand) const { return offsets_[operand]; }
  /// 0, or the distance of neighbours of the run within the operand.
  int64_t step(size_t operand) const { return steps_[operand]; }

 private:
  using PerOperand = std::array<int64_t, kMaxOperands>;
  struct Axis {
    int64_t extent = 1;
    PerOperand strides{};
  };
  int64_t count_ = 0;
  int64_t position_ = 0;
  int64_t run_ = 1;
  PerOperand offsets_{};
  PerOperand steps_{};
  std::vector<Axis> axes_;  // outer axes, outermost first; the run is not among them
  ir::Dims index_;
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::AutoBroadcast> {
  static constexpr std::string_view names[] = {"none", "numpy", "pdpd", "explicit"};
};
