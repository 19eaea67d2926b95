#pragma once
// What: the operations of the set "cpu", whose attributes hold other operations, and decisions, as bytes and back.
#include "ir/stored/graph.hpp"
#include "plugins/cpu/passes/layouts.hpp"

namespace terroir::cpu {

class CpuNodeCodec final : public ir::NodeCodec {
 public:
  explicit CpuNodeCodec(const ir::OpRegistry& operations) : NodeCodec(operations) {}

  const ir::OpSchema& schema(const std::string& type, const std::string& opset) const override;
  /// Exception (not_implemented) for attributes that would come back as others.
  void store(const ir::OpSchema& schema, const ir::Attributes& attributes, ByteWriter& to) const override;
  std::unique_ptr<ir::Attributes> load(const ir::OpSchema& schema, ByteReader& from) const override;

 private:
  struct Inner {
    const ir::OpSchema* schema;
    std::shared_ptr<const ir::Attributes> attributes;
  };
  void store_inner(const ir::OpSchema& schema, const ir::Attributes& attributes, ByteWriter& to) const;
  /// Nesting ends here: an operation of the opsets, or the fused twin of one where a stage may be that.
  Inner load_inner(ByteReader& from, bool may_be_fused = false) const;
  void store_fused(const FusedAttrs& fused, ByteWriter& to) const;
  FusedAttrs load_fused(ByteReader& from) const;
};

/// Exception (parse_error) where attributes name inputs, axes or results that there are not, or operands that kernels
/// cannot read.
void require_operands(const ir::Graph& graph, const ir::Node& node);

void store_decision(const Decision& decision, ByteWriter& to);
/// Of a node of this schema with so many inputs and outputs.
Decision load_decision(const ir::Node& node, ByteReader& from);

}  // namespace terroir::cpu
