#pragma once
// What: judges the integers that an Interpolate gives. They are roundings of sums, which kernels keep in f32: where a
// sum lies so near to a half that what f32 loses decides, the integer on its other side is as right.
// How: the sums are computed in f64, each with a bound below and above it that is as far off as f32 may be; in Pillow's
// modes, which round after every axis, both bounds are rounded and go on. An element must lie between the roundings.
#include <string>
#include <vector>

#include "ir/graph/graph.hpp"
#include "plugins/interpreter/host_tensor.hpp"

namespace terroir::test {

/// Whether the node is an Interpolate of integers, in a mode that adds.
bool is_resampling(const ir::Node& node);

/// What is wrong with the elements of `actual` as the result of such a node for these operands; empty: nothing.
std::string beyond_resampling(const ir::Node& node, const std::vector<interpreter::HostTensor>& operands,
                              const interpreter::HostTensor& actual);

}  // namespace terroir::test
