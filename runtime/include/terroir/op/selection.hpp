// Gathering, scattering, sorting and generation, as code makes them.
#pragma once

#include "terroir/element_type.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {

namespace detail {

inline AnyMap top_k(int64_t axis, op::TopKMode mode, op::TopKSortType sort, const element::Type& index_element_type) {
  return {
      {"axis", axis}, {"mode", spelling(mode)}, {"sort", spelling(sort)}, {"index_element_type", index_element_type}};
}

}  // namespace detail

namespace op {
namespace v0 {

class CumSum : public Node {
  TERROIR_LAYER(CumSum, "CumSum", "opset3")
  CumSum(const Output<Node>& data, const Output<Node>& axis, bool exclusive = false, bool reverse = false)
      : CumSum(OutputVector{data, axis}, {{"exclusive", exclusive}, {"reverse", reverse}}) {}
};

class Range : public Node {
  TERROIR_LAYER(Range, "Range", "opset1")
  Range(const Output<Node>& start, const Output<Node>& stop, const Output<Node>& step)
      : Range(OutputVector{start, stop, step}) {}
};

}  // namespace v0

namespace v1 {

class Gather : public Node {
  TERROIR_LAYER(Gather, "Gather", "opset1")
  Gather(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& axis)
      : Gather(OutputVector{data, indices, axis}) {}
};

class OneHot : public Node {
  TERROIR_LAYER(OneHot, "OneHot", "opset1")
  OneHot(const Output<Node>& indices, const Output<Node>& depth, const Output<Node>& on_value,
         const Output<Node>& off_value, int64_t axis)
      : OneHot(OutputVector{indices, depth, on_value, off_value}, {{"axis", axis}}) {}
};

class TopK : public Node {
  TERROIR_LAYER(TopK, "TopK", "opset1")
  using Mode = TopKMode;
  using SortType = TopKSortType;
  TopK(const Output<Node>& data, const Output<Node>& k, int64_t axis, Mode mode, SortType sort,
       const element::Type& index_element_type = element::i32)
      : TopK(OutputVector{data, k}, detail::top_k(axis, mode, sort, index_element_type)) {}
};

class GatherTree : public Node {
  TERROIR_LAYER(GatherTree, "GatherTree", "opset1")
  GatherTree(const Output<Node>& step_ids, const Output<Node>& parent_ids, const Output<Node>& max_seq_len,
             const Output<Node>& end_token)
      : GatherTree(OutputVector{step_ids, parent_ids, max_seq_len, end_token}) {}
};

}  // namespace v1

namespace v3 {

class NonZero : public Node {
  TERROIR_LAYER(NonZero, "NonZero", "opset3")
  explicit NonZero(const Output<Node>& data, const element::Type& output_type = element::i64)
      : NonZero(OutputVector{data}, {{"output_type", output_type}}) {}
};

class ScatterElementsUpdate : public Node {
  TERROIR_LAYER(ScatterElementsUpdate, "ScatterElementsUpdate", "opset3")
  ScatterElementsUpdate(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& updates,
                        const Output<Node>& axis)
      : ScatterElementsUpdate(OutputVector{data, indices, updates, axis}) {}
};

class ScatterNDUpdate : public Node {
  TERROIR_LAYER(ScatterNDUpdate, "ScatterNDUpdate", "opset4")
  ScatterNDUpdate(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& updates)
      : ScatterNDUpdate(OutputVector{data, indices, updates}) {}
};

class ScatterUpdate : public Node {
  TERROIR_LAYER(ScatterUpdate, "ScatterUpdate", "opset3")
  ScatterUpdate(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& updates,
                const Output<Node>& axis)
      : ScatterUpdate(OutputVector{data, indices, updates, axis}) {}
};

class TopK : public Node {
  TERROIR_LAYER(TopK, "TopK", "opset3")
  using Mode = TopKMode;
  using SortType = TopKSortType;
  TopK(const Output<Node>& data, const Output<Node>& k, int64_t axis, Mode mode, SortType sort,
       const element::Type& index_element_type = element::i32)
      : TopK(OutputVector{data, k}, detail::top_k(axis, mode, sort, index_element_type)) {}
};

class Bucketize : public Node {
  TERROIR_LAYER(Bucketize, "Bucketize", "opset3")
  Bucketize(const Output<Node>& data, const Output<Node>& buckets, const element::Type& output_type = element::i64,
            bool with_right_bound = true)
      : Bucketize(OutputVector{data, buckets}, {{"output_type", output_type}, {"with_right_bound", with_right_bound}}) {
  }
};

}  // namespace v3

namespace v4 {

class Range : public Node {
  TERROIR_LAYER(Range, "Range", "opset4")
  Range(const Output<Node>& start, const Output<Node>& stop, const Output<Node>& step, const element::Type& output_type)
      : Range(OutputVector{start, stop, step}, {{"output_type", output_type}}) {}
};

}  // namespace v4

namespace v5 {

class GatherND : public Node {
  TERROIR_LAYER(GatherND, "GatherND", "opset5")
  GatherND(const Output<Node>& data, const Output<Node>& indices, size_t batch_dims = 0)
      : GatherND(OutputVector{data, indices}, {{"batch_dims", static_cast<int64_t>(batch_dims)}}) {}
};

}  // namespace v5

namespace v6 {

class GatherElements : public Node {
  TERROIR_LAYER(GatherElements, "GatherElements", "opset6")
  GatherElements(const Output<Node>& data, const Output<Node>& indices, int64_t axis)
      : GatherElements(OutputVector{data, indices}, {{"axis", axis}}) {}
};

}  // namespace v6

namespace v7 {

class Gather : public Node {
  TERROIR_LAYER(Gather, "Gather", "opset7")
  Gather(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& axis, int64_t batch_dims = 0)
      : Gather(OutputVector{data, indices, axis}, {{"batch_dims", batch_dims}}) {}
};

}  // namespace v7

namespace v8 {

class Gather : public Node {
  TERROIR_LAYER(Gather, "Gather", "opset8")
  Gather(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& axis, int64_t batch_dims = 0)
      : Gather(OutputVector{data, indices, axis}, {{"batch_dims", batch_dims}}) {}
};

class GatherND : public Node {
  TERROIR_LAYER(GatherND, "GatherND", "opset8")
  GatherND(const Output<Node>& data, const Output<Node>& indices, size_t batch_dims = 0)
      : GatherND(OutputVector{data, indices}, {{"batch_dims", static_cast<int64_t>(batch_dims)}}) {}
};

/// The same numbers for the same seeds, on every device; others each time if both are 0.
class RandomUniform : public Node {
  TERROIR_LAYER(RandomUniform, "RandomUniform", "opset8")
  RandomUniform(const Output<Node>& out_shape, const Output<Node>& min_val, const Output<Node>& max_val,
                const element::Type& out_type, uint64_t global_seed = 0, uint64_t op_seed = 0,
                PhiloxAlignment alignment = PhiloxAlignment::TENSORFLOW)
      : RandomUniform(OutputVector{out_shape, min_val, max_val}, {{"output_type", out_type},
                                                                  {"global_seed", global_seed},
                                                                  {"op_seed", op_seed},
                                                                  {"alignment", detail::spelling(alignment)}}) {}
};

}  // namespace v8

namespace v9 {

class Eye : public Node {
  TERROIR_LAYER(Eye, "Eye", "opset9")
  Eye(const Output<Node>& num_rows, const Output<Node>& num_columns, const Output<Node>& diagonal_index,
      const element::Type& output_type)
      : Eye(OutputVector{num_rows, num_columns, diagonal_index}, {{"output_type", output_type}}) {}
  Eye(const Output<Node>& num_rows, const Output<Node>& num_columns, const Output<Node>& diagonal_index,
      const Output<Node>& batch_shape, const element::Type& output_type)
      : Eye(OutputVector{num_rows, num_columns, diagonal_index, batch_shape}, {{"output_type", output_type}}) {}
};

}  // namespace v9

namespace v10 {

class Unique : public Node {
  TERROIR_LAYER(Unique, "Unique", "opset10")
  explicit Unique(const Output<Node>& data, bool sorted = true, const element::Type& index_element_type = element::i64,
                  const element::Type& count_element_type = element::i64)
      : Unique(OutputVector{data}, by_name(sorted, index_element_type, count_element_type)) {}
  Unique(const Output<Node>& data, const Output<Node>& axis, bool sorted = true,
         const element::Type& index_element_type = element::i64, const element::Type& count_element_type = element::i64)
      : Unique(OutputVector{data, axis}, by_name(sorted, index_element_type, count_element_type)) {}

 private:
  static AnyMap by_name(bool sorted, const element::Type& index_element_type, const element::Type& count_element_type) {
    return {{"sorted", sorted}, {"index_element_type", index_element_type}, {"count_element_type", count_element_type}};
  }
};

}  // namespace v10

namespace v11 {

class TopK : public Node {
  TERROIR_LAYER(TopK, "TopK", "opset11")
  using Mode = TopKMode;
  using SortType = TopKSortType;
  TopK(const Output<Node>& data, const Output<Node>& k, int64_t axis, Mode mode, SortType sort,
       const element::Type& index_element_type = element::i32, bool stable = false)
      : TopK(OutputVector{data, k}, with_order(detail::top_k(axis, mode, sort, index_element_type), stable)) {}

 private:
  static AnyMap with_order(AnyMap attributes, bool stable) {
    attributes.emplace("stable", stable);
    return attributes;
  }
};

}  // namespace v11

namespace v12 {

class ScatterElementsUpdate : public Node {
  TERROIR_LAYER(ScatterElementsUpdate, "ScatterElementsUpdate", "opset12")
  enum class Reduction { NONE, SUM, PROD, MIN, MAX, MEAN };
  ScatterElementsUpdate(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& updates,
                        const Output<Node>& axis, Reduction reduction = Reduction::NONE, bool use_init_val = true)
      : ScatterElementsUpdate(OutputVector{data, indices, updates, axis},
                              {{"reduction", spelling(reduction)}, {"use_init_val", use_init_val}}) {}

 private:
  static const char* spelling(Reduction reduction) {
    static constexpr const char* kNames[] = {"none", "sum", "prod", "min", "max", "mean"};
    return kNames[static_cast<size_t>(reduction)];
  }
};

}  // namespace v12

namespace v13 {

class ScaledDotProductAttention : public Node {
  TERROIR_LAYER(ScaledDotProductAttention, "ScaledDotProductAttention", "opset13")
  ScaledDotProductAttention(const Output<Node>& query, const Output<Node>& key, const Output<Node>& value, bool causal)
      : ScaledDotProductAttention(OutputVector{query, key, value}, {{"causal", causal}}) {}
  ScaledDotProductAttention(const Output<Node>& query, const Output<Node>& key, const Output<Node>& value,
                            const Output<Node>& attention_mask, bool causal)
      : ScaledDotProductAttention(OutputVector{query, key, value, attention_mask}, {{"causal", causal}}) {}
  ScaledDotProductAttention(const Output<Node>& query, const Output<Node>& key, const Output<Node>& value,
                            const Output<Node>& attention_mask, const Output<Node>& scale, bool causal)
      : ScaledDotProductAttention(OutputVector{query, key, value, attention_mask, scale}, {{"causal", causal}}) {}
};

class Multinomial : public Node {
  TERROIR_LAYER(Multinomial, "Multinomial", "opset13")
  Multinomial(const Output<Node>& probs, const Output<Node>& num_samples, const element::Type& convert_type,
              bool with_replacement, bool log_probs, uint64_t global_seed = 0, uint64_t op_seed = 0)
      : Multinomial(OutputVector{probs, num_samples}, {{"convert_type", convert_type},
                                                       {"with_replacement", with_replacement},
                                                       {"log_probs", log_probs},
                                                       {"global_seed", global_seed},
                                                       {"op_seed", op_seed}}) {}
};

}  // namespace v13

namespace v15 {

class ScatterNDUpdate : public Node {
  TERROIR_LAYER(ScatterNDUpdate, "ScatterNDUpdate", "opset15")
  enum class Reduction { NONE, SUM, SUB, PROD, MIN, MAX };
  ScatterNDUpdate(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& updates,
                  Reduction reduction = Reduction::NONE)
      : ScatterNDUpdate(OutputVector{data, indices, updates}, {{"reduction", spelling(reduction)}}) {}

 private:
  static const char* spelling(Reduction reduction) {
    static constexpr const char* kNames[] = {"none", "sum", "sub", "prod", "min", "max"};
    return kNames[static_cast<size_t>(reduction)];
  }
};

class SearchSorted : public Node {
  TERROIR_LAYER(SearchSorted, "SearchSorted", "opset15")
  SearchSorted(const Output<Node>& sorted, const Output<Node>& values, bool right_mode = false,
               const element::Type& output_type = element::i64)
      : SearchSorted(OutputVector{sorted, values}, {{"right_mode", right_mode}, {"output_type", output_type}}) {}
};

}  // namespace v15

namespace v16 {

class OneHot : public Node {
  TERROIR_LAYER(OneHot, "OneHot", "opset16")
  enum class NegativeIndicesMode { IGNORE_NEGATIVE, NORMALIZE };
  OneHot(const Output<Node>& indices, const Output<Node>& depth, const Output<Node>& on_value,
         const Output<Node>& off_value, int64_t axis, NegativeIndicesMode mode = NegativeIndicesMode::IGNORE_NEGATIVE)
      : OneHot(OutputVector{indices, depth, on_value, off_value},
               {{"axis", axis},
                {"negative_indices_mode", mode == NegativeIndicesMode::NORMALIZE ? "normalize" : "ignore_negative"}}) {}
};

class SegmentMax : public Node {
  TERROIR_LAYER(SegmentMax, "SegmentMax", "opset16")
  SegmentMax(const Output<Node>& data, const Output<Node>& segment_ids, FillMode fill_mode)
      : SegmentMax(OutputVector{data, segment_ids}, {{"fill_mode", detail::spelling(fill_mode)}}) {}
  SegmentMax(const Output<Node>& data, const Output<Node>& segment_ids, const Output<Node>& num_segments,
             FillMode fill_mode)
      : SegmentMax(OutputVector{data, segment_ids, num_segments}, {{"fill_mode", detail::spelling(fill_mode)}}) {}
};

/// In the order of the operation's inputs, as OpenVINO takes them whatever its header calls them.
class SparseFillEmptyRows : public Node {
  TERROIR_LAYER(SparseFillEmptyRows, "SparseFillEmptyRows", "opset16")
  SparseFillEmptyRows(const Output<Node>& values, const Output<Node>& dense_shape, const Output<Node>& indices,
                      const Output<Node>& default_value)
      : SparseFillEmptyRows(OutputVector{values, dense_shape, indices, default_value}) {}
};

}  // namespace v16
}  // namespace op
}  // namespace terroir
