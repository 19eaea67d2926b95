#pragma once
// What: what a graph has to be like to be written as IR version 10, the format of releases until 2022.1.
// Refused, with the layer's name: operations that those releases do not know (of sets after opset8), element types that
//   came later, 4-bit constants of unknown origin (older and newer releases put their elements in another order), and
//   inputs and outputs of types as which version 10 does not present them (f16 inputs are presented as f32; outputs of
//   i64, u32, u64 as i32, all others as f32): a reader would see another model. Sets without a number (custom layers)
//   are written as they are.
#include <memory>

#include "ir/graph/graph.hpp"

namespace terroir::ir::xml {

/// A copy whose inputs and outputs have the tensor names that a reader of version 10 will give them.
/// Exception: unsupported (see above); invalid_argument if two tensors would get the same name.
std::unique_ptr<Graph> named_for_v10(const Graph& graph);

}  // namespace terroir::ir::xml
