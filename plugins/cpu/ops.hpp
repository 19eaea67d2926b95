#pragma once
// What: ops that exist inside the CPU pipeline only (set "cpu"): fused ones, and reorders between layouts.
#include <memory>
#include <vector>

#include "ir/graph/graph.hpp"
#include "ir/schema/registry.hpp"
#include "plugins/cpu/attention_op.hpp"
#include "plugins/cpu/bf16_op.hpp"
#include "plugins/cpu/compressed_op.hpp"
#include "plugins/cpu/convolution_chain_op.hpp"
#include "plugins/cpu/elementwise_op.hpp"
#include "plugins/cpu/fused_attrs.hpp"
#include "plugins/cpu/layout/layout.hpp"
#include "plugins/cpu/quantized_op.hpp"
#include "plugins/cpu/rms_norm_op.hpp"

namespace terroir::cpu {

inline constexpr std::string_view kReorderType = "Reorder";

/// Copies a tensor from one layout to another. Type and logical shape stay.
struct ReorderAttrs {
  Layout from, to;

  template <class V>
  void visit(V& v) {
    std::string from_name = from.name(), to_name = to.name();
    v("from", from_name);
    v("to", to_name);
  }
};

/// Schemas of the set "cpu": Reorder, Attention, RmsNorm, ConvolutionChain, Elementwise, Quantize, Dequantize,
/// QuantizedConvolution, QuantizedMatMul, Bf16Convolution, Bf16MatMul, CompressedMatMul, and for every op that takes a
/// chain its fused twin, of the same type name.
class CpuOps {
 public:
  explicit CpuOps(const ir::OpRegistry& registry);
  const ir::OpSchema& reorder() const { return *reorder_; }
  const ir::OpSchema& attention() const { return *attention_; }
  const ir::OpSchema& rms_norm() const { return *rms_norm_; }
  const ir::OpSchema& convolution_chain() const { return *convolution_chain_; }
  const ir::OpSchema& elementwise() const { return *elementwise_; }
  const ir::OpSchema& quantize() const { return *quantize_; }
  const ir::OpSchema& dequantize() const { return *dequantize_; }
  const ir::OpSchema& quantized_convolution() const { return *quantized_convolution_; }
  const ir::OpSchema& quantized_matmul() const { return *quantized_matmul_; }
  const ir::OpSchema& bf16_convolution() const { return *bf16_convolution_; }
  const ir::OpSchema& bf16_matmul() const { return *bf16_matmul_; }
  const ir::OpSchema& compressed_matmul() const { return *compressed_matmul_; }
  /// Null when the op takes no chain.
  const ir::OpSchema* fused(const ir::OpSchema& base) const;

 private:
  ir::OpRegistry own_;
  const ir::OpSchema* reorder_;
  const ir::OpSchema* attention_;
  const ir::OpSchema* rms_norm_;
  const ir::OpSchema* convolution_chain_;
  const ir::OpSchema* elementwise_;
  const ir::OpSchema* quantize_;
  const ir::OpSchema* dequantize_;
  const ir::OpSchema* quantized_convolution_;
  const ir::OpSchema* quantized_matmul_;
  const ir::OpSchema* bf16_convolution_;
  const ir::OpSchema* bf16_matmul_;
  const ir::OpSchema* compressed_matmul_;
};

inline bool is_cpu_op(const ir::Node& node) { return node.schema->opset == "cpu"; }
/// Whether it is the twin of a base op, with FusedAttrs.
bool is_fused(const ir::Node& node);
/// Whether it has QuantizedAttrs.
bool is_quantized(const ir::Node& node);
/// Whether it has Bf16Attrs.
bool is_bf16(const ir::Node& node);
/// Whether it has CompressedAttrs.
bool is_compressed(const ir::Node& node);
/// The base op and the chain of a fused node, or of one in bytes, bf16 or compressed weights; null for other nodes.
const FusedAttrs* fused_attrs(const ir::Node& node);
/// The attributes of a node, or of the base op of a fused one.
const ir::Attributes& base_attributes(const ir::Node& node);
/// The schema of a node, or of the base op of a fused one.
const ir::OpSchema& base_schema(const ir::Node& node);
/// Inputs of the op itself, without operands of a chain.
int base_input_count(const ir::Node& node);

}  // namespace terroir::cpu
