// Inputs and outputs that become variables: what an output gave is what its input reads next time.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "terroir/op/constant.hpp"
#include "terroir/op/state.hpp"
#include "terroir/pass/pass.hpp"

namespace terroir {
namespace pass {

/// Each pair of a Parameter and a Result becomes a ReadValue, of zeros at first, and an Assign of one variable, which
/// is named by the tensors (or the layers) of both. Throws Exception: invalid_argument for a Parameter whose shape is
/// not known, not_found for a name there is not.
class MakeStateful : public ModelPass {
 public:
  using ParamResPairs = std::vector<std::pair<std::shared_ptr<op::v0::Parameter>, std::shared_ptr<op::v0::Result>>>;

  explicit MakeStateful(const ParamResPairs& pairs) : pairs_(pairs) {}
  /// By the names of the tensors.
  explicit MakeStateful(const std::map<std::string, std::string>& names) : names_(names) {}

  bool run_on_model(const std::shared_ptr<Model>& model) override {
    ParamResPairs pairs = pairs_;
    for (const auto& [input, output] : names_) {
      pairs.emplace_back(as_type_ptr<op::v0::Parameter>(model->input(input).get_node_shared_ptr()),
                         as_type_ptr<op::v0::Result>(model->output(output).get_node_shared_ptr()));
    }
    for (const auto& [parameter, result] : pairs) make_variable(*model, parameter, result);
    return !pairs.empty();
  }

 private:
  static std::string name_of(const Output<Node>& port) {
    return port.get_names().empty() ? port.get_node()->get_friendly_name() : port.get_any_name();
  }

  static void make_variable(Model& model, const std::shared_ptr<op::v0::Parameter>& parameter,
                            const std::shared_ptr<op::v0::Result>& result) {
    const Shape shape = parameter->get_output_shape(0);
    const element::Type type = parameter->get_output_element_type(0);
    const auto variable = std::make_shared<op::util::Variable>(
        op::util::VariableInfo{shape, type, name_of(parameter->output(0)) + name_of(result->output(0))});
    const Output<Node> next = result->input_value(0);
    const auto zeros = std::make_shared<op::v0::Constant>(type, shape, 0);
    const auto read = std::make_shared<op::v6::ReadValue>(zeros, variable);
    parameter->output(0).replace(read->output(0));
    model.add_sinks({std::make_shared<op::v6::Assign>(next, variable)});
    model.remove_result(result);
    model.remove_parameter(parameter);
  }

  ParamResPairs pairs_;
  std::map<std::string, std::string> names_;
};

}  // namespace pass
}  // namespace terroir
