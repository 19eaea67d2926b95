// A program of OpenVINO's C++ API that walks through a model by plain pointers and references, changes layers in place,
// hangs attributes of its own on them, and has a layer whose attributes are of types of its own: main FOLDER.
#include <openvino/core/attribute_adapter.hpp>
#include <openvino/core/graph_util.hpp>
#include <openvino/core/op_extension.hpp>
#include <openvino/core/rt_info.hpp>
#include <openvino/core/runtime_attribute.hpp>
#include <openvino/op/op.hpp>
#include <openvino/openvino.hpp>
#include <openvino/opsets/opset11.hpp>
#include <openvino/pass/manager.hpp>
#include <openvino/pass/visualize_tree.hpp>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace example {

struct Range {
  float low = 0, high = 1;
};
enum class Mode { keep, mirror };
struct Percent {
  int value = 100;
};

/// Values are brought into a range, or reflected at 0 first, and taken by a percentage.
class Limit : public ov::op::Op {
 public:
  OPENVINO_OP("Limit", "example");

  Limit() = default;
  Limit(const ov::Output<ov::Node>& arg, Range range, Mode mode, Percent share)
      : Op({arg}), m_range(range), m_mode(mode), m_share(share) {
    constructor_validate_and_infer_types();
  }
  void validate_and_infer_types() override {
    const auto& input = get_input_tensor(0);
    set_output_type(0, input.get_element_type(), input.get_partial_shape());
  }
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& args) const override {
    return std::make_shared<Limit>(args.at(0), m_range, m_mode, m_share);
  }
  bool visit_attributes(ov::AttributeVisitor& visitor) override {
    visitor.on_attribute("range", m_range);
    visitor.on_attribute("mode", m_mode);
    visitor.on_attribute("share", m_share);
    visitor.on_attribute("rounding", m_rounding);
    visitor.on_attribute("pads", m_pads);
    return true;
  }
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs,
                const ov::EvaluationContext&) const override {
    const auto* from = inputs[0].data<const float>();
    auto* to = outputs[0].data<float>();
    for (size_t i = 0; i < inputs[0].get_size(); ++i) {
      const float x = m_mode == Mode::mirror && from[i] < 0 ? -from[i] : from[i];
      to[i] = std::min(std::max(x, m_range.low), m_range.high) * static_cast<float>(m_share.value) / 100;
    }
    return true;
  }
  using Op::evaluate;
  bool has_evaluate() const override { return true; }

  void set_range(Range range) { m_range = range; }
  const Range& get_range() const { return m_range; }
  Mode get_mode() const { return m_mode; }
  int get_percent() const { return m_share.value; }

 private:
  Range m_range;
  Mode m_mode = Mode::keep;
  Percent m_share;
  ov::op::RoundingType m_rounding = ov::op::RoundingType::FLOOR;
  ov::CoordinateDiff m_pads{1, -1};
};

/// Where a layer comes from.
class Origin : public ov::RuntimeAttribute {
 public:
  OPENVINO_RTTI("origin", "0", ov::RuntimeAttribute);
  Origin() = default;
  explicit Origin(std::string text) : m_text(std::move(text)) {}
  std::string to_string() const override { return m_text; }
  bool visit_attributes(ov::AttributeVisitor& visitor) override {
    visitor.on_attribute("text", m_text);
    return true;
  }

 private:
  std::string m_text;
};

}  // namespace example

namespace ov {

template <>
EnumNames<example::Mode>& EnumNames<example::Mode>::get() {
  static auto names =
      EnumNames<example::Mode>("Mode", {{"keep", example::Mode::keep}, {"mirror", example::Mode::mirror}});
  return names;
}
template <>
class AttributeAdapter<example::Mode> : public EnumAttributeAdapterBase<example::Mode> {
 public:
  AttributeAdapter(example::Mode& value) : EnumAttributeAdapterBase<example::Mode>(value) {}
  OPENVINO_RTTI("AttributeAdapter<example::Mode>");
};
template <>
class AttributeAdapter<example::Range> : public VisitorAdapter {
 public:
  AttributeAdapter(example::Range& value) : m_ref(value) {}
  bool visit_attributes(AttributeVisitor& visitor) override {
    visitor.on_attribute("low", m_ref.low);
    visitor.on_attribute("high", m_ref.high);
    return true;
  }
  OPENVINO_RTTI("AttributeAdapter<example::Range>");

 private:
  example::Range& m_ref;
};
template <>
class AttributeAdapter<example::Percent> : public ValueAccessor<std::string> {
 public:
  AttributeAdapter(example::Percent& value) : m_ref(value) {}
  const std::string& get() override { return m_text = std::to_string(m_ref.value) + "%"; }
  void set(const std::string& value) override { m_ref.value = std::stoi(value); }
  OPENVINO_RTTI("AttributeAdapter<example::Percent>");

 private:
  example::Percent& m_ref;
  std::string m_text;
};

}  // namespace ov

namespace {

std::shared_ptr<ov::Model> make_model() {
  auto data = std::make_shared<ov::opset11::Parameter>(ov::element::f32, ov::PartialShape{1, 6});
  data->set_friendly_name("data");
  auto limit =
      std::make_shared<example::Limit>(data, example::Range{-1, 4}, example::Mode::mirror, example::Percent{50});
  limit->set_friendly_name("limit");
  auto k = ov::opset11::Constant::create(ov::element::i64, {}, {2});
  auto top = std::make_shared<ov::opset11::TopK>(limit, k, -1, "max", "value", ov::element::i32);
  top->set_friendly_name("top");
  auto result = std::make_shared<ov::opset11::Result>(top->output(0));
  result->output(0).get_tensor().set_names({"best"});
  return std::make_shared<ov::Model>(ov::ResultVector{result}, ov::ParameterVector{data}, "representation");
}

std::vector<float> run(ov::Core& core, const std::shared_ptr<ov::Model>& model) {
  auto request = core.compile_model(model, "CPU").create_infer_request();
  std::vector<float> values{-3, 1, 9, 2, -8, 0};
  request.set_input_tensor(ov::Tensor(ov::element::f32, {1, 6}, values.data()));
  request.infer();
  const ov::Tensor output = request.get_output_tensor();
  return std::vector<float>(output.data<const float>(), output.data<const float>() + output.get_size());
}

void check_walk(const std::shared_ptr<ov::Model>& model) {
  // Depth first over plain pointers, which are the keys of what has been seen.
  std::unordered_map<const ov::Node*, size_t> depth;
  std::vector<ov::Node*> pending{model->get_results()[0].get()};
  while (!pending.empty()) {
    ov::Node* node = pending.back();
    pending.pop_back();
    for (size_t i = 0; i < node->get_input_size(); ++i) {
      ov::Node* input = node->get_input_node_ptr(i);
      if (depth.emplace(input, depth[node] + 1).second) pending.push_back(input);
    }
  }
  for (const auto& op : model->get_ops())
    OPENVINO_ASSERT(depth.count(op.get()) == 1, "not found: ", op->get_friendly_name());
  const ov::Node* input = model->input().get_node();
  OPENVINO_ASSERT(depth.at(input) == 3, "the depth of ", *input, " is ", depth.at(input));

  auto& names = model->output().get_names();
  auto& shape = model->output().get_shape();
  auto& type = model->output().get_element_type();
  OPENVINO_ASSERT(names.count("best") == 1 && shape == ov::Shape({1, 2}) && type == ov::element::f32, shape, type);
  auto& info = model->output().get_node()->get_type_info();
  OPENVINO_ASSERT(std::strcmp(info.name, "Result") == 0, info);
}

void check_layers(ov::Core& core, const std::shared_ptr<ov::Model>& model, bool made_here) {
  for (const auto& op : model->get_ordered_ops()) {
    if (auto limit = ov::as_type_ptr<example::Limit>(op)) {
      OPENVINO_ASSERT(limit == op && ov::is_type<example::Limit>(op) &&
                      ov::as_type<example::Limit>(op.get()) == limit.get());
      OPENVINO_ASSERT(!made_here || limit.get() == op.get(), "another object than the program's own");
      OPENVINO_ASSERT(limit->get_range().low == -1 && limit->get_range().high == 4 && limit->get_percent() == 50 &&
                      limit->get_mode() == example::Mode::mirror);
      OPENVINO_ASSERT(limit->get_friendly_name() == "limit" && limit->get_input_size() == 1);
      ov::TensorVector outputs{ov::Tensor(ov::element::f32, {1})};
      OPENVINO_ASSERT(
          limit->evaluate(outputs, {ov::op::v0::Constant(ov::element::f32, {1}, -2).get_tensor_view()}, {}));
      OPENVINO_ASSERT(outputs[0].data<float>()[0] == 1);
      OPENVINO_ASSERT(run(core, model) == std::vector<float>({2, 2}));
      limit->set_range({0, 8});
      OPENVINO_ASSERT(run(core, model) == std::vector<float>({4, 4}), "the new range is not taken");
      OPENVINO_ASSERT(run(core, model->clone()) == std::vector<float>({4, 4}), "a copy has the old range");
      limit->set_range({-1, 4});
    }
  }
  auto top = ov::as_type_ptr<ov::op::v11::TopK>(model->get_result()->get_input_node_shared_ptr(0));
  OPENVINO_ASSERT(top, "the last layer is no TopK");
  top->set_k(3);
  top->validate_and_infer_types();
  OPENVINO_ASSERT(model->output().get_partial_shape() == ov::PartialShape({1, 3}), model->output());
  OPENVINO_ASSERT(run(core, model) == std::vector<float>({2, 2, 1.5f}));
  top->set_k(2);
  top->validate_and_infer_types();
}

void check_attributes(const std::shared_ptr<ov::Model>& model) {
  auto top = model->get_result()->get_input_node_shared_ptr(0);
  top->get_rt_info()[example::Origin::get_type_info_static()] = example::Origin("importer");
  ov::copy_runtime_info(top, top->get_input_node_shared_ptr(0));
  auto& info = top->get_input_node_ptr(0)->get_rt_info();
  OPENVINO_ASSERT(info.count(example::Origin::get_type_info_static()) == 1, "the attribute was not copied");
  OPENVINO_ASSERT(info.at(example::Origin::get_type_info_static()).as<example::Origin>().to_string() == "importer");
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    OPENVINO_ASSERT(argc == 2, "usage: ", argv[0], " FOLDER");
    const std::string path = std::string(argv[1]) + "/representation";
    ov::Core core;
    const ov::BaseOpExtension::Ptr extension = std::make_shared<ov::OpExtension<example::Limit>>();
    OPENVINO_ASSERT(extension->get_type_info() == example::Limit::get_type_info_static());
    core.add_extension(std::vector<std::shared_ptr<ov::Extension>>{extension});
    const auto model = make_model();
    check_walk(model);
    check_layers(core, model, true);
    check_attributes(model);
    ov::pass::Manager manager;
    manager.register_pass<ov::pass::VisualizeTree>(path + ".svg");
    manager.register_pass<ov::pass::Serialize>(path + ".xml", path + ".bin");
    manager.run_passes(model);
    OPENVINO_ASSERT(std::ifstream(path + ".svg.dot"), "there is no picture");

    const auto read = core.read_model(path + ".xml");
    check_walk(read);
    check_layers(core, read, false);
    check_attributes(read);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
