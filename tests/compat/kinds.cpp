// A program of OpenVINO's C++ API that declares its classes beforehand, looks for kinds of layers by their base
// classes, gives layers their inputs later, and runs a sequence part by part: main FOLDER.
#include <memory>

namespace ov {
class Model;  // before any header of OpenVINO, as headers of programs have it
class Node;
namespace pass {
class ScaleOfSums;
}
}  // namespace ov

#include <openvino/core/graph_util.hpp>
#include <openvino/op/util/arithmetic_reductions_keep_dims.hpp>
#include <openvino/op/util/binary_elementwise_arithmetic.hpp>
#include <openvino/op/util/sub_graph_base.hpp>
#include <openvino/op/util/unary_elementwise_arithmetic.hpp>
#include <openvino/openvino.hpp>
#include <openvino/opsets/opset13.hpp>
#include <openvino/pass/graph_rewrite.hpp>
#include <openvino/pass/low_latency.hpp>
#include <openvino/pass/manager.hpp>
#include <openvino/pass/pattern/op/wrap_type.hpp>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

/// (a op b) op constant, whatever the two are: the callback says where.
class ov::pass::ScaleOfSums : public ov::pass::MatcherPass {
 public:
  OPENVINO_MATCHER_PASS_RTTI("ScaleOfSums");
  ScaleOfSums() {
    auto any = pattern::wrap_type<op::util::BinaryElementwiseArithmetic, op::util::UnaryElementwiseArithmetic>();
    register_matcher(std::make_shared<pattern::Matcher>(any, "ScaleOfSums"), [=](pattern::Matcher& m) {
      const auto root = m.get_match_root();
      if (transformation_callback(root)) return false;
      auto twice = register_new_node<opset13::Concat>(OutputVector{root, root}, 1);
      auto consumers = root->output(0).get_target_inputs();
      for (auto input : consumers)
        if (input.get_node() != twice.get()) input.replace_source_output(twice);
      return true;
    });
  }
};

namespace {

using namespace ov;

void kinds() {
  auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 4});
  auto relu = std::make_shared<opset13::Relu>();
  relu->set_arguments(OutputVector{x});
  relu->validate_and_infer_types();
  auto sum = std::make_shared<opset13::Add>(relu, relu);
  auto axes = op::v0::Constant::create(element::i64, Shape{1}, {1});
  auto mean = std::make_shared<opset13::ReduceMean>(sum, axes, true);
  auto model = std::make_shared<Model>(OutputVector{mean}, ParameterVector{x});
  std::shared_ptr<const Model> reading = model;

  size_t unary = 0, binary = 0, reductions = 0;
  traverse_nodes(reading, [&](const std::shared_ptr<Node>& node) {
    unary += is_type<op::util::UnaryElementwiseArithmetic>(node);
    if (auto operation = as_type_ptr<op::util::BinaryElementwiseArithmetic>(node))
      binary += operation->get_autob().m_type == op::AutoBroadcastType::NUMPY;
    if (auto reduction = as_type_ptr<op::util::ArithmeticReductionKeepDims>(node))
      reductions += reduction->get_keep_dims() && reduction->get_reduction_axes() == AxisSet{1};
  });
  OPENVINO_ASSERT(unary == 1 && binary == 1 && reductions == 1, unary, " ", binary, " ", reductions);

  pass::Manager manager;
  manager.register_pass<pass::ScaleOfSums>();
  manager.get_pass_config()->set_callback<pass::ScaleOfSums>(
      [](const std::shared_ptr<const Node>& node) { return is_type<opset13::Relu>(node); });
  OPENVINO_ASSERT(manager.run_passes(model));
  OPENVINO_ASSERT(mean->get_input_partial_shape(0) == (PartialShape{1, 8}), mean->get_input_partial_shape(0));
  manager.get_pass_config()->disable<pass::ScaleOfSums>();
  OPENVINO_ASSERT(!manager.run_passes(model));
}

/// What is left of a level after each sample: level = level / 2 + sample.
std::shared_ptr<Model> levels() {
  auto sample = std::make_shared<opset13::Parameter>(element::f32, Shape{1, 1});
  auto level = std::make_shared<opset13::Parameter>(element::f32, Shape{1, 1});
  level->set_friendly_name("level");
  auto half = opset13::Constant::create(element::f32, Shape{}, {0.5});
  auto next = std::make_shared<opset13::Add>(std::make_shared<opset13::Multiply>(level, half), sample);
  auto body = std::make_shared<Model>(OutputVector{next}, ParameterVector{sample, level});
  auto samples = std::make_shared<opset13::Parameter>(element::f32, PartialShape{Dimension::dynamic(), 1});
  auto loop = std::make_shared<opset13::TensorIterator>();
  loop->set_friendly_name("levels");
  loop->set_body(body);
  loop->set_sliced_input(sample, samples, 0, 1, 1, -1, 0);
  loop->set_merged_input(level, opset13::Constant::create(element::f32, Shape{1, 1}, {0}), next);
  return std::make_shared<Model>(OutputVector{loop->get_iter_value(next)}, ParameterVector{samples});
}

void part_by_part(const std::filesystem::path& folder) {
  Core core;
  const auto model = levels();
  for (const auto& node : model->get_ops()) {
    const auto loop = as_type_ptr<op::util::SubGraphOp>(node);
    if (!loop) continue;
    OPENVINO_ASSERT(as_type_ptr<op::v0::TensorIterator>(node)->get_num_iterations() == -1);
    const auto inputs = loop->get_input_descriptions();
    OPENVINO_ASSERT(as_type_ptr<op::util::SubGraphOp::SliceInputDescription>(inputs.at(0))->m_axis == 0);
    OPENVINO_ASSERT(is_type<op::util::SubGraphOp::MergedInputDescription>(inputs.at(1)));
  }
  pass::Manager manager;
  manager.register_pass<pass::LowLatency2>();
  manager.run_passes(model);
  OPENVINO_ASSERT(model->get_variables().at(0)->get_info().variable_id == "levels/level/variable_1",
                  model->get_variables().at(0)->get_info().variable_id);
  const std::wstring path = (folder / "levels.xml").wstring();
  save_model(model, (folder / "levels.xml").string(), false);
  auto request = core.compile_model(core.read_model(path), "CPU").create_infer_request();
  auto other = core.compile_model(path.c_str(), "CPU", num_streams(1)).create_infer_request();
  OPENVINO_ASSERT(core.read_model(path.c_str())->inputs().size() == 1);
  try {
    static_cast<void>(core.compile_model(L"none.xml", "CPU"));
    OPENVINO_ASSERT(false, "a file that is not there is compiled");
  } catch (const Exception& error) {
    OPENVINO_ASSERT(std::string(error.what()).find("none.xml") != std::string::npos, error.what());
  }
  const std::vector<float> samples{4, 2, 8, 1};
  float level = 0;
  for (const float one : samples) {
    Tensor input(element::f32, {1, 1});
    *input.data<float>() = one;
    request.set_input_tensor(input);
    request.infer();
    level = level / 2 + one;
    OPENVINO_ASSERT(*request.get_output_tensor().data<float>() == level, "the level is ",
                    *request.get_output_tensor().data<float>(), ", not ", level);
  }
  other.set_input_tensor(Tensor(element::f32, {samples.size(), 1}, const_cast<float*>(samples.data())));
  other.infer();
  OPENVINO_ASSERT(*other.get_output_tensor().data<float>() == level);
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    OPENVINO_ASSERT(argc == 2, "usage: ", argv[0], " FOLDER");
    kinds();
    part_by_part(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
