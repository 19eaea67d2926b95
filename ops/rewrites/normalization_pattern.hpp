#pragma once
// What: recognises a normalisation written as single ops, ending in the node that divides:
//   d / sqrt(mean(d^2) + eps), d / (sqrt(mean(d^2)) + eps), d * (mean(d^2) + eps)^-0.5, d * (1 / sqrt(...))
// with d = x - mean(x) (mean-variance normalisation) or d = x (by the root of the mean square); d^2 is Power(d, 2),
// Multiply(d, d) or SquaredDifference(x, mean(x)); the mean is a ReduceMean that keeps its axes.
// Refuses: types other than f32, intermediate results that something else reads too, means over different axes or axes
// known at run time only, an eps that is not one constant above zero.
#include <optional>
#include <vector>

#include "ir/graph/graph.hpp"

namespace terroir::ops {

struct Normalization {
  ir::Value x;
  std::vector<int64_t> axes;
  double eps = 0;
  bool eps_outside_sqrt = false;
  bool centered = false;
  std::vector<ir::NodeId> nodes;  // all of it; the last one first, then the others in the order of the match
};

std::optional<Normalization> match_normalization(const ir::Graph& graph, const ir::Node& node);

/// The number in a constant of one f32 element.
std::optional<double> scalar_constant(const ir::Graph& graph, ir::Value value);

}  // namespace terroir::ops
