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

/// The value whose elements these are, in another shape perhaps.
ir::Value behind_reshapes(const ir::Graph& graph, ir::Value value);

/// Whether the value is made by Interpolate, of integers and in a mode that adds.
bool is_resampled(const ir::Graph& graph, ir::Value value);

/// What is wrong with the elements of `actual` as those of such a value of the model with these inputs; empty: nothing.
std::string beyond_resampling(const ir::Graph& graph, const std::vector<interpreter::HostTensor>& inputs,
                              ir::Value value, const interpreter::HostTensor& actual);

}  // namespace terroir::test
