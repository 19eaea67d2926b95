#pragma once
// What: ConvolutionChain of the set "cpu": convolutions of which each reads the result of the one before and nobody
// else does, run strip by strip; or a gate and the convolution that reads what it lets through; or a transposed
// convolution, the Concat of its result with others, and the convolution that reads that; made by the pass
// fuse_convolution_chains.
// Formula: y = stage[n-1](... stage[1](stage[0](x))), every stage a convolution with its fused chain, or the first of
//   two a Multiply of x [N, C, spatial] and a gate [N or 1, C, 1 ...], or the second of two a MaxPool, or the second of
//   three a Concat. With `mean`, output 1 is the mean of each channel of y over the spatial axes, [N, C, 1 ...].
// Shapes: those of the stages. Types: f32.
#include <memory>
#include <string>
#include <vector>

#include "ir/base/tensor_view.hpp"
#include "ir/schema/attributes.hpp"
#include "ir/schema/op_schema.hpp"

namespace terroir::cpu {

inline constexpr std::string_view kConvolutionChainType = "ConvolutionChain";

struct ConvolutionChainAttrs {
  static constexpr int kPrevious = -1;
  struct Stage {
    const ir::OpSchema* schema = nullptr;
    std::shared_ptr<const ir::Attributes> attributes;
    std::string name;         // the layer it stood for
    std::vector<int> inputs;  // inputs of the node, or kPrevious: the result of the stage before
  };
  std::vector<Stage> stages;
  bool mean = false;

  /// As the first stage says: a gate, a depthwise convolution, or a transposed convolution whose result is joined to
  /// others; else as the second one says, which may be a pooling.
  enum class Kind { strips, gated, joined, pooled, separable };
  Kind kind() const {
    const std::string_view first = stages[0].schema->type;
    if (first == "Multiply") return Kind::gated;
    if (first == "GroupConvolution") return Kind::separable;
    if (first.ends_with("BackpropData")) return Kind::joined;
    return stages[1].schema->type == "MaxPool" ? Kind::pooled : Kind::strips;
  }

  template <class V>
  void visit(V& v) {
    std::vector<std::string> texts;
    for (const Stage& stage : stages) texts.push_back(text_of(stage));
    v("stages", texts);
    v("mean", mean);
  }

 private:
  static std::string text_of(const Stage& stage);
};

/// Extents of the result of every stage, given the extents of the node's inputs.
std::vector<ir::Dims> stage_results(const ConvolutionChainAttrs& attrs, const std::vector<ir::Dims>& inputs);

ir::OpSchema convolution_chain_schema();

}  // namespace terroir::cpu
