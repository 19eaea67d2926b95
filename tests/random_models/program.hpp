#pragma once
// What: a model as programs use it: through the public API, from a file in memory.
#include <string>

#include "tests/random_models/subject.hpp"

namespace terroir::test {

/// Two requests at once, tensors that are views into larger ones, batches of single images, a compiled model exported
/// and imported, the model reshaped to unknown extents. Empty when all of them have the bits of `expected`, the results
/// of a first inference. Not for texts and variables.
std::string difference_through_api(const Subject& subject, const Tensors& expected);

/// The model reshaped to the extents of `inputs`, of which `expected` are the results.
std::string difference_when_reshaped(const Subject& subject, const Tensors& inputs, const Tensors& expected);

}  // namespace terroir::test
