// Data for inferences: tensors made of files or random values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <terroir/terroir.hpp>

#include "benchmark_app/inputs.hpp"

namespace benchmark_app {

/// What one inference reads.
struct Feed {
  std::vector<terroir::Tensor> tensors;  // by input
  size_t shape_set = 0;                  // which of the sets of shapes
  uint64_t samples = 1;
};

/// So many that every file and every set of shapes is used equally often, and at least `least` if all values are
/// random; prints what each consists of. Throws std::runtime_error: a file that does not fit its input.
std::vector<Feed> make_feeds(const std::vector<Input>& inputs, const std::vector<terroir::element::Type>& types,
                             const std::vector<ShapeSet>& shape_sets, size_t least);

}  // namespace benchmark_app
