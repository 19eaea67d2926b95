#pragma once
// What: what OpSchema::dimensions is given and may answer beyond InferContext: values of further outputs, and bounds of
// real numbers, since extents are multiplied by scales on their way to a shape.
#include <optional>
#include <vector>

#include "ir/schema/infer_context.hpp"

namespace terroir::ir {

/// Bounds of a real number, both finite.
struct RealRange {
  double low = 0, high = 0;
};
/// Of the elements of a list; empty for elements without bounds.
using Ranges = std::vector<std::optional<RealRange>>;

class NumberContext : public InferContext {
 public:
  using InferContext::InferContext;

  /// Which output's value is asked for.
  virtual int asked_output() const = 0;
  /// The value of a 0-D or 1-D f32 or f64 input as bounds; empty when nothing is known.
  virtual std::optional<Ranges> ranges(int input) = 0;

  /// In place of dimensions, for an f32 or f64 output.
  void answer(std::optional<Ranges> ranges) { answer_ = std::move(ranges); }
  std::optional<Ranges> take_answer() { return std::move(answer_); }

 private:
  std::optional<Ranges> answer_;
};

}  // namespace terroir::ir
