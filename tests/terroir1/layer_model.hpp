#pragma once
// What: models of one convolution layer, from the text of an IR file and from the model builder, and their results.
#include <memory>
#include <optional>
#include <terroir/terroir.hpp>

#include "tests/terroir1/array.hpp"

namespace terroir::test {

/// A layer with constant filter and bias, reading the model's only input.
struct Layer {
  std::string type = "Convolution";
  std::string opset = "terroir1";
  Texts attributes;  // as in <data>
  Array filter;
  std::optional<Array> bias;
};

/// One result per layer. Every element is of `type`; results have the extents that `outputs` gives.
std::shared_ptr<Model> model_from_file(const std::vector<int64_t>& input, const element::Type& type,
                                       const std::vector<Layer>& layers,
                                       const std::vector<std::vector<int64_t>>& outputs);
std::shared_ptr<Model> model_from_builder(const std::vector<int64_t>& input, const element::Type& type,
                                          const std::vector<Layer>& layers);

struct Outcome {
  std::vector<Array> outputs;
  std::vector<std::string> references;  // layers that ran on reference kernels
};
/// With `threads` threads and the instruction set `isa` ("": the best); devices without them ignore them.
Outcome run(const std::shared_ptr<Model>& model, const std::string& device, int threads, const Array& input,
            const std::string& isa = {});

/// Empty when the arrays have the same extents and no element differs by more than `relative` times the largest
/// expected magnitude, which counts as 1 at least.
std::string difference(const Array& expected, const Array& actual, double relative);

}  // namespace terroir::test
