// Layers that have models inside: If, Loop and TensorIterator.
//
// Use: auto step = std::make_shared<Model>(OutputVector{next, goes_on}, ParameterVector{x, sum}, "step");
//      auto loop = std::make_shared<op::v5::Loop>(trip_count, condition);
//      loop->set_function(step);
//      loop->set_special_body_ports({-1, 1});                // goes_on is the condition of the next iteration
//      loop->set_sliced_input(x, data, 0, 1, 1, -1, 0);      // x is one row of data after the other
//      loop->set_merged_input(sum, zero, next);              // sum is zero, then what next was
//      auto last = loop->get_iter_value(next);               // an output: next of the last iteration
// What: a body is a model made in code or read; it is copied, so it may go or change afterwards. First the bodies, then
//       what feeds them, then the outputs. The layer can be changed until a Model is made of it.
// Shapes: outputs have types and shapes as soon as they are asked for, and get better ones with further inputs.
// Errors: Exception (invalid_argument) for a Parameter or a Result that is not the body's, or is fed or set twice, for
//         bodies that are missing and for layers that belong to a model; and what the operation refuses. After an error
//         the layer is as it was. A Model refuses layers with a Parameter that is used and not fed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "terroir/model.hpp"
#include "terroir/op/ends.hpp"
#include "terroir/op/layer.hpp"

namespace terroir {
namespace op {
namespace util {

/// What they have in common.
class TERROIR_API MultiSubGraphOp : public Node {
  TERROIR_LAYER_BASE(Node, MultiSubGraphOp)

  /// How an input of the layer feeds a body, and an output comes from one: indices among inputs, outputs, and
  /// parameters and results of the body. They are copies: changing them changes nothing.
  struct InputDescription {
    using Ptr = std::shared_ptr<InputDescription>;
    virtual ~InputDescription() = default;
    virtual const DiscreteTypeInfo& get_type_info() const = 0;
    uint64_t m_input_index = 0;
    uint64_t m_body_parameter_index = 0;
  };
  struct OutputDescription {
    using Ptr = std::shared_ptr<OutputDescription>;
    virtual ~OutputDescription() = default;
    virtual const DiscreteTypeInfo& get_type_info() const = 0;
    uint64_t m_body_value_index = 0;
    uint64_t m_output_index = 0;
  };
#define TERROIR_PORT_DESCRIPTION(Base, Name) \
  TERROIR_TYPE_INFO(Base, Name, "0")         \
  const DiscreteTypeInfo& get_type_info() const override { return get_type_info_static(); }
  struct SliceInputDescription : InputDescription {
    TERROIR_PORT_DESCRIPTION(InputDescription, SliceInputDescription)
    int64_t m_start = 0, m_stride = 0, m_part_size = 0, m_end = 0, m_axis = 0;
  };
  struct MergedInputDescription : InputDescription {
    TERROIR_PORT_DESCRIPTION(InputDescription, MergedInputDescription)
    uint64_t m_body_value_index = 0;  ///< the result that it is from the second iteration on
  };
  struct InvariantInputDescription : InputDescription {
    TERROIR_PORT_DESCRIPTION(InputDescription, InvariantInputDescription)
  };
  struct ConcatOutputDescription : OutputDescription {
    TERROIR_PORT_DESCRIPTION(OutputDescription, ConcatOutputDescription)
    int64_t m_start = 0, m_stride = 0, m_part_size = 0, m_end = 0, m_axis = 0;
  };
  struct BodyOutputDescription : OutputDescription {
    TERROIR_PORT_DESCRIPTION(OutputDescription, BodyOutputDescription)
    int64_t m_iteration = -1;  ///< the last
  };
#undef TERROIR_PORT_DESCRIPTION
  using MultiSubgraphInputDescriptionVector = std::vector<InputDescription::Ptr>;
  using MultiSubgraphOutputDescriptionVector = std::vector<OutputDescription::Ptr>;

  /// Bodies, as copies: of Loop and TensorIterator the only one, of If those for true and false.
  size_t get_internal_subgraphs_size() const;
  std::vector<std::shared_ptr<Model>> get_functions() const;
  std::shared_ptr<Model> get_function(size_t index) const;
  /// Of one of the bodies. Throws Exception (invalid_argument) for an index out of range.
  MultiSubgraphInputDescriptionVector get_input_descriptions(size_t index) const;
  MultiSubgraphOutputDescriptionVector get_output_descriptions(size_t index) const;

 protected:
  MultiSubGraphOp(const char* type, const char* opset, const OutputVector& inputs);

  /// `role` as in IR files.
  void set_body(const char* role, const std::shared_ptr<Model>& body);
  std::shared_ptr<Model> get_body(const char* role) const;
};

/// Loop and TensorIterator: one body, which runs again and again.
class TERROIR_API SubGraphOp : public MultiSubGraphOp {
  TERROIR_LAYER_BASE(MultiSubGraphOp, SubGraphOp)
  using MultiSubGraphOp::get_function;
  using MultiSubGraphOp::get_input_descriptions;
  using MultiSubGraphOp::get_output_descriptions;
  MultiSubgraphInputDescriptionVector get_input_descriptions() const { return get_input_descriptions(0); }
  MultiSubgraphOutputDescriptionVector get_output_descriptions() const { return get_output_descriptions(0); }
  /// How often the body runs; -1 where that is not known before, or not at all.
  int64_t get_num_iterations() const;

  void set_function(const std::shared_ptr<Model>& body) { set_body("body", body); }
  std::shared_ptr<Model> get_function() const { return get_body("body"); }

  /// The parameter is a part of `value` along `axis`: from `start` on (before it, if `stride` is negative) to `end`
  /// (inclusive), `part_size` elements an iteration, `stride` further each time. Negative: from the end on.
  void set_sliced_input(const std::shared_ptr<v0::Parameter>& parameter, const Output<Node>& value, int64_t start,
                        int64_t stride, int64_t part_size, int64_t end, int64_t axis);
  /// The parameter is `initial_value`, from the second iteration on what `successive_value` of the body was.
  void set_merged_input(const std::shared_ptr<v0::Parameter>& parameter, const Output<Node>& initial_value,
                        const Output<Node>& successive_value);
  /// The parameter is `value`.
  void set_invariant_input(const std::shared_ptr<v0::Parameter>& parameter, const Output<Node>& value);

  /// A new output: a value of the body after the last iteration. Throws Exception (unsupported) for another iteration
  /// than -1.
  Output<Node> get_iter_value(const Output<Node>& body_value, int64_t iteration = -1);
  /// A new output: the values of all iterations one behind the other, as set_sliced_input() cuts them.
  Output<Node> get_concatenated_slices(const Output<Node>& body_value, int64_t start, int64_t stride, int64_t part_size,
                                       int64_t end, int64_t axis);

 protected:
  using MultiSubGraphOp::MultiSubGraphOp;
};

}  // namespace util

namespace v0 {

/// Runs its body once for each part of the sliced inputs.
class TensorIterator : public util::SubGraphOp {
  TERROIR_TYPE_INFO(util::SubGraphOp, TensorIterator, "opset1")
  explicit TensorIterator(const detail::NodeHandle& handle) : SubGraphOp(handle) {}
  TensorIterator() : SubGraphOp("TensorIterator", "opset1", {}) {}

  void set_body(const std::shared_ptr<Model>& body) { set_function(body); }
  std::shared_ptr<Model> get_body() const { return get_function(); }
};

}  // namespace v0

namespace v5 {

/// Runs its body up to `trip_count` times (-1: without end), as long as the condition holds.
class TERROIR_API Loop : public util::SubGraphOp {
 public:
  /// Which Parameter of the body counts the iterations and which Result says whether there is another one; -1: none.
  struct SpecialBodyPorts {
    SpecialBodyPorts() = default;
    SpecialBodyPorts(int64_t in_current_iteration_input_idx, int64_t in_body_condition_output_idx)
        : current_iteration_input_idx(in_current_iteration_input_idx),
          body_condition_output_idx(in_body_condition_output_idx) {}
    int64_t current_iteration_input_idx = -1;
    int64_t body_condition_output_idx = -1;
  };

  TERROIR_TYPE_INFO(util::SubGraphOp, Loop, "opset5")
  explicit Loop(const detail::NodeHandle& handle) : SubGraphOp(handle) {}
  /// Gets these by set_arguments().
  Loop() : SubGraphOp("Loop", "opset5", {}) {}
  /// `execution_condition`: of the first iteration.
  Loop(const Output<Node>& trip_count, const Output<Node>& execution_condition)
      : SubGraphOp("Loop", "opset5", {trip_count, execution_condition}) {}

  void set_special_body_ports(const SpecialBodyPorts& ports);
  SpecialBodyPorts get_special_body_ports() const;
};

}  // namespace v5

namespace v8 {

/// Runs one of two bodies.
class TERROIR_API If : public util::MultiSubGraphOp {
  TERROIR_TYPE_INFO(util::MultiSubGraphOp, If, "opset8")
  explicit If(const detail::NodeHandle& handle) : MultiSubGraphOp(handle) {}
  /// Gets its condition by set_arguments().
  If() : MultiSubGraphOp("If", "opset8", {}) {}
  explicit If(const Output<Node>& execution_condition) : MultiSubGraphOp("If", "opset8", {execution_condition}) {}

  void set_then_body(const std::shared_ptr<Model>& body) { set_body("then_body", body); }
  void set_else_body(const std::shared_ptr<Model>& body) { set_body("else_body", body); }
  std::shared_ptr<Model> get_then_body() const { return get_body("then_body"); }
  std::shared_ptr<Model> get_else_body() const { return get_body("else_body"); }

  /// `value` is these parameters of the bodies; null for a body that does not need it.
  void set_input(const Output<Node>& value, const std::shared_ptr<v0::Parameter>& then_parameter,
                 const std::shared_ptr<v0::Parameter>& else_parameter);
  /// A new output: one of these results.
  Output<Node> set_output(const std::shared_ptr<v0::Result>& then_result,
                          const std::shared_ptr<v0::Result>& else_result);
};

}  // namespace v8
}  // namespace op
}  // namespace terroir
