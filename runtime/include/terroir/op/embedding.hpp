// Sums of embeddings, as code makes them.
#pragma once

#include "terroir/op/attribute_access.hpp"
#include "terroir/op/bases.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {
namespace op {

namespace util {

/// What the bags of opset15 share.
struct EmbeddingBagBase {
  enum class Reduction { SUM, MEAN };
  friend detail::Names<2> spellings(Reduction) { return {"sum", "mean"}; }
  static AnyMap by_name(Reduction reduction) { return {{"reduction", detail::spelling(reduction)}}; }
};

}  // namespace util

namespace v3 {

class EmbeddingBagOffsetsSum : public util::EmbeddingBagOffsetsBase {
  TERROIR_LAYER_OF(util::EmbeddingBagOffsetsBase, EmbeddingBagOffsetsSum, "EmbeddingBagOffsetsSum", "opset3")
  EmbeddingBagOffsetsSum(const Output<Node>& table, const Output<Node>& indices, const Output<Node>& offsets)
      : EmbeddingBagOffsetsSum(OutputVector{table, indices, offsets}) {}
  EmbeddingBagOffsetsSum(const Output<Node>& table, const Output<Node>& indices, const Output<Node>& offsets,
                         const Output<Node>& default_index)
      : EmbeddingBagOffsetsSum(OutputVector{table, indices, offsets, default_index}) {}
  EmbeddingBagOffsetsSum(const Output<Node>& table, const Output<Node>& indices, const Output<Node>& offsets,
                         const Output<Node>& default_index, const Output<Node>& per_sample_weights)
      : EmbeddingBagOffsetsSum(OutputVector{table, indices, offsets, default_index, per_sample_weights}) {}
};

class EmbeddingBagPackedSum : public util::EmbeddingBagPackedBase {
  TERROIR_LAYER_OF(util::EmbeddingBagPackedBase, EmbeddingBagPackedSum, "EmbeddingBagPackedSum", "opset3")
  EmbeddingBagPackedSum(const Output<Node>& table, const Output<Node>& indices)
      : EmbeddingBagPackedSum(OutputVector{table, indices}) {}
  EmbeddingBagPackedSum(const Output<Node>& table, const Output<Node>& indices, const Output<Node>& per_sample_weights)
      : EmbeddingBagPackedSum(OutputVector{table, indices, per_sample_weights}) {}
};

class EmbeddingSegmentsSum : public Node {
  TERROIR_LAYER(EmbeddingSegmentsSum, "EmbeddingSegmentsSum", "opset3")
  EmbeddingSegmentsSum(const Output<Node>& table, const Output<Node>& indices, const Output<Node>& segment_ids,
                       const Output<Node>& num_segments)
      : EmbeddingSegmentsSum(OutputVector{table, indices, segment_ids, num_segments}) {}
  EmbeddingSegmentsSum(const Output<Node>& table, const Output<Node>& indices, const Output<Node>& segment_ids,
                       const Output<Node>& num_segments, const Output<Node>& default_index)
      : EmbeddingSegmentsSum(OutputVector{table, indices, segment_ids, num_segments, default_index}) {}
  EmbeddingSegmentsSum(const Output<Node>& table, const Output<Node>& indices, const Output<Node>& segment_ids,
                       const Output<Node>& num_segments, const Output<Node>& default_index,
                       const Output<Node>& per_sample_weights)
      : EmbeddingSegmentsSum(
            OutputVector{table, indices, segment_ids, num_segments, default_index, per_sample_weights}) {}
};

}  // namespace v3

namespace v15 {

class EmbeddingBagOffsets : public util::EmbeddingBagOffsetsBase, public util::EmbeddingBagBase {
  TERROIR_LAYER_OF(util::EmbeddingBagOffsetsBase, EmbeddingBagOffsets, "EmbeddingBagOffsets", "opset15")
  EmbeddingBagOffsets(const Output<Node>& table, const Output<Node>& indices, const Output<Node>& offsets,
                      Reduction reduction = Reduction::SUM)
      : EmbeddingBagOffsets(OutputVector{table, indices, offsets}, by_name(reduction)) {}
  EmbeddingBagOffsets(const Output<Node>& table, const Output<Node>& indices, const Output<Node>& offsets,
                      const Output<Node>& default_index, Reduction reduction = Reduction::SUM)
      : EmbeddingBagOffsets(OutputVector{table, indices, offsets, default_index}, by_name(reduction)) {}
  EmbeddingBagOffsets(const Output<Node>& table, const Output<Node>& indices, const Output<Node>& offsets,
                      const Output<Node>& default_index, const Output<Node>& per_sample_weights,
                      Reduction reduction = Reduction::SUM)
      : EmbeddingBagOffsets(OutputVector{table, indices, offsets, default_index, per_sample_weights},
                            by_name(reduction)) {}
  Reduction get_reduction() const { return detail::attribute<Reduction>(*this, "reduction"); }
};

class EmbeddingBagPacked : public util::EmbeddingBagPackedBase, public util::EmbeddingBagBase {
  TERROIR_LAYER_OF(util::EmbeddingBagPackedBase, EmbeddingBagPacked, "EmbeddingBagPacked", "opset15")
  EmbeddingBagPacked(const Output<Node>& table, const Output<Node>& indices, Reduction reduction = Reduction::SUM)
      : EmbeddingBagPacked(OutputVector{table, indices}, by_name(reduction)) {}
  EmbeddingBagPacked(const Output<Node>& table, const Output<Node>& indices, const Output<Node>& per_sample_weights,
                     Reduction reduction = Reduction::SUM)
      : EmbeddingBagPacked(OutputVector{table, indices, per_sample_weights}, by_name(reduction)) {}
  Reduction get_reduction() const { return detail::attribute<Reduction>(*this, "reduction"); }
};

}  // namespace v15
}  // namespace op
}  // namespace terroir
