// Gathering, scattering, sorting and generation, as code makes them.
#pragma once

#include <cstdint>
#include <limits>

#include "terroir/element_type.hpp"
#include "terroir/op/attribute_access.hpp"
#include "terroir/op/attributes.hpp"
#include "terroir/op/bases.hpp"
#include "terroir/op/constant.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {

namespace detail {

inline AnyMap top_k(int64_t axis, op::TopKMode mode, op::TopKSortType sort, const element::Type& index_element_type) {
  return {
      {"axis", axis}, {"mode", spelling(mode)}, {"sort", spelling(sort)}, {"index_element_type", index_element_type}};
}

}  // namespace detail

namespace op {
namespace util {

/// All versions of TopK.
class TopKBase : public Node {
  TERROIR_LAYER_BASE(Node, TopKBase)
  int64_t get_provided_axis() const { return detail::attribute<int64_t>(*this, "axis"); }
  void set_axis(int64_t axis) { detail::set_attribute(*this, "axis", axis); }
  void set_axis(const Rank& /*of the data*/, int64_t axis) { set_axis(axis); }
  /// Counted from the front. Throws Exception (invalid_argument) for a negative axis of data of unknown rank.
  uint64_t get_axis() const { return detail::axis_from_front(*this, get_provided_axis()); }
  TopKMode get_mode() const { return detail::attribute<TopKMode>(*this, "mode"); }
  void set_mode(TopKMode mode) { detail::set_attribute(*this, "mode", mode); }
  TopKSortType get_sort_type() const { return detail::attribute<TopKSortType>(*this, "sort"); }
  void set_sort_type(TopKSortType sort_type) { detail::set_attribute(*this, "sort", sort_type); }
  const element::Type get_index_element_type() const {
    return detail::attribute<element::Type>(*this, "index_element_type");
  }
  void set_index_element_type(const element::Type& index_element_type) {
    detail::set_attribute(*this, "index_element_type", index_element_type);
  }
  /// 0 if the input is no Constant.
  size_t get_k() const { return detail::constant_number<size_t>(*this, 1, 0); }
  /// The input becomes a Constant.
  void set_k(size_t k) {
    set_argument(1, std::make_shared<v0::Constant>(element::i64, Shape{}, static_cast<int64_t>(k)));
  }
};

/// All versions of Gather.
class GatherBase : public Node {
  TERROIR_LAYER_BASE(Node, GatherBase)
  /// The largest number if the input is no Constant.
  int64_t get_axis() const { return detail::constant_number<int64_t>(*this, 2, std::numeric_limits<int64_t>::max()); }
};

}  // namespace util

namespace v0 {

class CumSum : public Node {
  TERROIR_LAYER(CumSum, "CumSum", "opset3")
  CumSum(const Output<Node>& data, const Output<Node>& axis, bool exclusive = false, bool reverse = false)
      : CumSum(OutputVector{data, axis}, {{"exclusive", exclusive}, {"reverse", reverse}}) {}
  bool is_exclusive() const { return detail::attribute<bool>(*this, "exclusive"); }
  void set_exclusive(bool exclusive) { detail::set_attribute(*this, "exclusive", exclusive); }
  bool is_reverse() const { return detail::attribute<bool>(*this, "reverse"); }
  void set_reverse(bool reverse) { detail::set_attribute(*this, "reverse", reverse); }
};

class Range : public Node {
  TERROIR_LAYER(Range, "Range", "opset1")
  Range(const Output<Node>& start, const Output<Node>& stop, const Output<Node>& step)
      : Range(OutputVector{start, stop, step}) {}
};

}  // namespace v0

namespace v1 {

class Gather : public util::GatherBase {
  TERROIR_LAYER_OF(util::GatherBase, Gather, "Gather", "opset1")
  Gather(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& axis)
      : Gather(OutputVector{data, indices, axis}) {}
};

class OneHot : public Node {
  TERROIR_LAYER(OneHot, "OneHot", "opset1")
  OneHot(const Output<Node>& indices, const Output<Node>& depth, const Output<Node>& on_value,
         const Output<Node>& off_value, int64_t axis)
      : OneHot(OutputVector{indices, depth, on_value, off_value}, {{"axis", axis}}) {}
  int64_t get_axis() const { return detail::attribute<int64_t>(*this, "axis"); }
  void set_axis(int64_t axis) { detail::set_attribute(*this, "axis", axis); }
};

class TopK : public util::TopKBase {
  TERROIR_LAYER_OF(util::TopKBase, TopK, "TopK", "opset1")
  using Mode = TopKMode;
  using SortType = TopKSortType;
  TopK(const Output<Node>& data, const Output<Node>& k, int64_t axis, Mode mode, SortType sort,
       const element::Type& index_element_type = element::i32)
      : TopK(OutputVector{data, k}, detail::top_k(axis, mode, sort, index_element_type)) {}
  /// `mode` and `sort` as files spell them.
  TopK(const Output<Node>& data, const Output<Node>& k, int64_t axis, const std::string& mode, const std::string& sort,
       const element::Type& index_element_type = element::i32)
      : TopK(data, k, axis, detail::enumerator<Mode>(mode), detail::enumerator<SortType>(sort), index_element_type) {}
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
  const element::Type get_output_type() const { return detail::attribute<element::Type>(*this, "output_type"); }
  void set_output_type(const element::Type& output_type) { detail::set_attribute(*this, "output_type", output_type); }
};

class ScatterElementsUpdate : public util::ScatterElementsUpdateBase {
  TERROIR_LAYER_OF(util::ScatterElementsUpdateBase, ScatterElementsUpdate, "ScatterElementsUpdate", "opset3")
  ScatterElementsUpdate(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& updates,
                        const Output<Node>& axis)
      : ScatterElementsUpdate(OutputVector{data, indices, updates, axis}) {}
};

class ScatterNDUpdate : public util::ScatterNDBase {
  TERROIR_LAYER_OF(util::ScatterNDBase, ScatterNDUpdate, "ScatterNDUpdate", "opset4")
  ScatterNDUpdate(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& updates)
      : ScatterNDUpdate(OutputVector{data, indices, updates}) {}
};

class ScatterUpdate : public util::ScatterBase {
  TERROIR_LAYER_OF(util::ScatterBase, ScatterUpdate, "ScatterUpdate", "opset3")
  ScatterUpdate(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& updates,
                const Output<Node>& axis)
      : ScatterUpdate(OutputVector{data, indices, updates, axis}) {}
};

class TopK : public util::TopKBase {
  TERROIR_LAYER_OF(util::TopKBase, TopK, "TopK", "opset3")
  using Mode = TopKMode;
  using SortType = TopKSortType;
  TopK(const Output<Node>& data, const Output<Node>& k, int64_t axis, Mode mode, SortType sort,
       const element::Type& index_element_type = element::i32)
      : TopK(OutputVector{data, k}, detail::top_k(axis, mode, sort, index_element_type)) {}
  /// `mode` and `sort` as files spell them.
  TopK(const Output<Node>& data, const Output<Node>& k, int64_t axis, const std::string& mode, const std::string& sort,
       const element::Type& index_element_type = element::i32)
      : TopK(data, k, axis, detail::enumerator<Mode>(mode), detail::enumerator<SortType>(sort), index_element_type) {}
};

class Bucketize : public Node {
  TERROIR_LAYER(Bucketize, "Bucketize", "opset3")
  Bucketize(const Output<Node>& data, const Output<Node>& buckets, const element::Type& output_type = element::i64,
            bool with_right_bound = true)
      : Bucketize(OutputVector{data, buckets}, {{"output_type", output_type}, {"with_right_bound", with_right_bound}}) {
  }
  const element::Type get_output_type() const { return detail::attribute<element::Type>(*this, "output_type"); }
  void set_output_type(const element::Type& output_type) { detail::set_attribute(*this, "output_type", output_type); }
  bool get_with_right_bound() const { return detail::attribute<bool>(*this, "with_right_bound"); }
  void set_with_right_bound(bool with_right_bound) {
    detail::set_attribute(*this, "with_right_bound", with_right_bound);
  }
};

}  // namespace v3

namespace v4 {

class Range : public Node {
  TERROIR_LAYER(Range, "Range", "opset4")
  Range(const Output<Node>& start, const Output<Node>& stop, const Output<Node>& step, const element::Type& output_type)
      : Range(OutputVector{start, stop, step}, {{"output_type", output_type}}) {}
  const element::Type get_output_type() const { return detail::attribute<element::Type>(*this, "output_type"); }
  void set_output_type(const element::Type& output_type) { detail::set_attribute(*this, "output_type", output_type); }
};

}  // namespace v4

namespace v5 {

class GatherND : public util::GatherNDBase {
  TERROIR_LAYER_OF(util::GatherNDBase, GatherND, "GatherND", "opset5")
  GatherND(const Output<Node>& data, const Output<Node>& indices, size_t batch_dims = 0)
      : GatherND(OutputVector{data, indices}, {{"batch_dims", static_cast<int64_t>(batch_dims)}}) {}
};

}  // namespace v5

namespace v6 {

class GatherElements : public Node {
  TERROIR_LAYER(GatherElements, "GatherElements", "opset6")
  GatherElements(const Output<Node>& data, const Output<Node>& indices, int64_t axis)
      : GatherElements(OutputVector{data, indices}, {{"axis", axis}}) {}
  int64_t get_axis() const { return detail::attribute<int64_t>(*this, "axis"); }
  void set_axis(int64_t axis) { detail::set_attribute(*this, "axis", axis); }
};

}  // namespace v6

namespace v7 {

class Gather : public util::GatherBase {
  TERROIR_LAYER_OF(util::GatherBase, Gather, "Gather", "opset7")
  Gather(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& axis, int64_t batch_dims = 0)
      : Gather(OutputVector{data, indices, axis}, {{"batch_dims", batch_dims}}) {}
  int64_t get_batch_dims() const { return detail::attribute<int64_t>(*this, "batch_dims"); }
  void set_batch_dims(int64_t batch_dims) { detail::set_attribute(*this, "batch_dims", batch_dims); }
};

}  // namespace v7

namespace v8 {

class Gather : public util::GatherBase {
  TERROIR_LAYER_OF(util::GatherBase, Gather, "Gather", "opset8")
  Gather(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& axis, int64_t batch_dims = 0)
      : Gather(OutputVector{data, indices, axis}, {{"batch_dims", batch_dims}}) {}
  int64_t get_batch_dims() const { return detail::attribute<int64_t>(*this, "batch_dims"); }
  void set_batch_dims(int64_t batch_dims) { detail::set_attribute(*this, "batch_dims", batch_dims); }
};

class GatherND : public util::GatherNDBase {
  TERROIR_LAYER_OF(util::GatherNDBase, GatherND, "GatherND", "opset8")
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
  const element::Type get_out_type() const { return detail::attribute<element::Type>(*this, "output_type"); }
  void set_out_type(const element::Type& out_type) { detail::set_attribute(*this, "output_type", out_type); }
  uint64_t get_global_seed() const { return detail::attribute<uint64_t>(*this, "global_seed"); }
  void set_global_seed(uint64_t global_seed) { detail::set_attribute(*this, "global_seed", global_seed); }
  uint64_t get_op_seed() const { return detail::attribute<uint64_t>(*this, "op_seed"); }
  void set_op_seed(uint64_t op_seed) { detail::set_attribute(*this, "op_seed", op_seed); }
  PhiloxAlignment get_alignment() const { return detail::attribute<PhiloxAlignment>(*this, "alignment"); }
  void set_alignment(PhiloxAlignment alignment) { detail::set_attribute(*this, "alignment", alignment); }
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
  const element::Type get_out_type() const { return detail::attribute<element::Type>(*this, "output_type"); }
  void set_out_type(const element::Type& out_type) { detail::set_attribute(*this, "output_type", out_type); }
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
  bool get_sorted() const { return detail::attribute<bool>(*this, "sorted"); }
  const element::Type get_index_element_type() const {
    return detail::attribute<element::Type>(*this, "index_element_type");
  }
  const element::Type get_count_element_type() const {
    return detail::attribute<element::Type>(*this, "count_element_type");
  }

 private:
  static AnyMap by_name(bool sorted, const element::Type& index_element_type, const element::Type& count_element_type) {
    return {{"sorted", sorted}, {"index_element_type", index_element_type}, {"count_element_type", count_element_type}};
  }
};

}  // namespace v10

namespace v11 {

class TopK : public util::TopKBase {
  TERROIR_LAYER_OF(util::TopKBase, TopK, "TopK", "opset11")
  using Mode = TopKMode;
  using SortType = TopKSortType;
  TopK(const Output<Node>& data, const Output<Node>& k, int64_t axis, Mode mode, SortType sort,
       const element::Type& index_element_type = element::i32, bool stable = false)
      : TopK(OutputVector{data, k}, with_order(detail::top_k(axis, mode, sort, index_element_type), stable)) {}
  TopK(const Output<Node>& data, const Output<Node>& k, int64_t axis, const std::string& mode, const std::string& sort,
       const element::Type& index_element_type = element::i32, bool stable = false)
      : TopK(data, k, axis, detail::enumerator<Mode>(mode), detail::enumerator<SortType>(sort), index_element_type,
             stable) {}
  bool get_stable() const { return detail::attribute<bool>(*this, "stable"); }
  void set_stable(bool stable) { detail::set_attribute(*this, "stable", stable); }

 private:
  static AnyMap with_order(AnyMap attributes, bool stable) {
    attributes.emplace("stable", stable);
    return attributes;
  }
};

}  // namespace v11

namespace v12 {

class ScatterElementsUpdate : public util::ScatterElementsUpdateBase {
  TERROIR_LAYER_OF(util::ScatterElementsUpdateBase, ScatterElementsUpdate, "ScatterElementsUpdate", "opset12")
  enum class Reduction { NONE, SUM, PROD, MIN, MAX, MEAN };
  friend detail::Names<6> spellings(Reduction) { return {"none", "sum", "prod", "min", "max", "mean"}; }
  ScatterElementsUpdate(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& updates,
                        const Output<Node>& axis, Reduction reduction = Reduction::NONE, bool use_init_val = true)
      : ScatterElementsUpdate(OutputVector{data, indices, updates, axis},
                              {{"reduction", detail::spelling(reduction)}, {"use_init_val", use_init_val}}) {}
  Reduction get_reduction() const { return detail::attribute<Reduction>(*this, "reduction"); }
  bool get_use_init_val() const { return detail::attribute<bool>(*this, "use_init_val"); }
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
  /// `sink`: one more score in every softmax, whose weight goes nowhere; broadcasts to [.., targets, 1].
  ScaledDotProductAttention(const Output<Node>& query, const Output<Node>& key, const Output<Node>& value,
                            const Output<Node>& attention_mask, const Output<Node>& scale, const Output<Node>& sink,
                            bool causal)
      : ScaledDotProductAttention(OutputVector{query, key, value, attention_mask, scale, sink}, {{"causal", causal}}) {}
  bool get_causal() const { return detail::attribute<bool>(*this, "causal"); }
  void set_causal(bool causal) { detail::set_attribute(*this, "causal", causal); }
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
  const element::Type get_convert_type() const { return detail::attribute<element::Type>(*this, "convert_type"); }
  void set_convert_type(const element::Type& convert_type) {
    detail::set_attribute(*this, "convert_type", convert_type);
  }
  bool get_with_replacement() const { return detail::attribute<bool>(*this, "with_replacement"); }
  void set_with_replacement(bool with_replacement) {
    detail::set_attribute(*this, "with_replacement", with_replacement);
  }
  bool get_log_probs() const { return detail::attribute<bool>(*this, "log_probs"); }
  void set_log_probs(bool log_probs) { detail::set_attribute(*this, "log_probs", log_probs); }
  uint64_t get_global_seed() const { return detail::attribute<uint64_t>(*this, "global_seed"); }
  void set_global_seed(uint64_t global_seed) { detail::set_attribute(*this, "global_seed", global_seed); }
  uint64_t get_op_seed() const { return detail::attribute<uint64_t>(*this, "op_seed"); }
  void set_op_seed(uint64_t op_seed) { detail::set_attribute(*this, "op_seed", op_seed); }
};

}  // namespace v13

namespace v15 {

class ScatterNDUpdate : public util::ScatterNDBase {
  TERROIR_LAYER_OF(util::ScatterNDBase, ScatterNDUpdate, "ScatterNDUpdate", "opset15")
  enum class Reduction { NONE, SUM, SUB, PROD, MIN, MAX };
  friend detail::Names<6> spellings(Reduction) { return {"none", "sum", "sub", "prod", "min", "max"}; }
  ScatterNDUpdate(const Output<Node>& data, const Output<Node>& indices, const Output<Node>& updates,
                  Reduction reduction = Reduction::NONE)
      : ScatterNDUpdate(OutputVector{data, indices, updates}, {{"reduction", detail::spelling(reduction)}}) {}
  Reduction get_reduction() const { return detail::attribute<Reduction>(*this, "reduction"); }
  void set_reduction(Reduction reduction) { detail::set_attribute(*this, "reduction", reduction); }
};

class SearchSorted : public Node {
  TERROIR_LAYER(SearchSorted, "SearchSorted", "opset15")
  SearchSorted(const Output<Node>& sorted, const Output<Node>& values, bool right_mode = false,
               const element::Type& output_type = element::i64)
      : SearchSorted(OutputVector{sorted, values}, {{"right_mode", right_mode}, {"output_type", output_type}}) {}
  bool get_right_mode() const { return detail::attribute<bool>(*this, "right_mode"); }
  void set_right_mode(bool right_mode) { detail::set_attribute(*this, "right_mode", right_mode); }
  const element::Type get_output_type_attr() const { return detail::attribute<element::Type>(*this, "output_type"); }
  void set_output_type_attr(const element::Type& output_type) {
    detail::set_attribute(*this, "output_type", output_type);
  }
};

}  // namespace v15

namespace v16 {

class OneHot : public Node {
  TERROIR_LAYER(OneHot, "OneHot", "opset16")
  enum class NegativeIndicesMode { IGNORE_NEGATIVE, NORMALIZE };
  friend detail::Names<2> spellings(NegativeIndicesMode) { return {"ignore_negative", "normalize"}; }
  OneHot(const Output<Node>& indices, const Output<Node>& depth, const Output<Node>& on_value,
         const Output<Node>& off_value, int64_t axis, NegativeIndicesMode mode = NegativeIndicesMode::IGNORE_NEGATIVE)
      : OneHot(OutputVector{indices, depth, on_value, off_value},
               {{"axis", axis}, {"negative_indices_mode", detail::spelling(mode)}}) {}
  int64_t get_axis() const { return detail::attribute<int64_t>(*this, "axis"); }
  void set_axis(int64_t axis) { detail::set_attribute(*this, "axis", axis); }
  NegativeIndicesMode get_negative_indices_mode() const {
    return detail::attribute<NegativeIndicesMode>(*this, "negative_indices_mode");
  }
  void set_negative_indices_mode(NegativeIndicesMode negative_indices_mode) {
    detail::set_attribute(*this, "negative_indices_mode", negative_indices_mode);
  }
};

class SegmentMax : public Node {
  TERROIR_LAYER(SegmentMax, "SegmentMax", "opset16")
  SegmentMax(const Output<Node>& data, const Output<Node>& segment_ids, FillMode fill_mode)
      : SegmentMax(OutputVector{data, segment_ids}, {{"fill_mode", detail::spelling(fill_mode)}}) {}
  SegmentMax(const Output<Node>& data, const Output<Node>& segment_ids, const Output<Node>& num_segments,
             FillMode fill_mode)
      : SegmentMax(OutputVector{data, segment_ids, num_segments}, {{"fill_mode", detail::spelling(fill_mode)}}) {}
  FillMode get_fill_mode() const { return detail::attribute<FillMode>(*this, "fill_mode"); }
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
