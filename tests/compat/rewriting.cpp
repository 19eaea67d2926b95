// A program of OpenVINO's C++ API with passes of its own, which it puts into namespace ov: main FOLDER.
#include <openvino/core/graph_util.hpp>
#include <openvino/core/rt_info.hpp>
#include <openvino/openvino.hpp>
#include <openvino/opsets/opset10.hpp>
#include <openvino/pass/constant_folding.hpp>
#include <openvino/pass/graph_rewrite.hpp>
#include <openvino/pass/manager.hpp>
#include <openvino/pass/pattern/op/or.hpp>
#include <openvino/pass/pattern/op/wrap_type.hpp>

#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ov {
class Model;  // as headers do that need no more than a pointer

namespace pass {

/// a / constant -> a * (1 / constant)
class DivideToMultiply : public MatcherPass {
 public:
  OPENVINO_MATCHER_PASS_RTTI("DivideToMultiply");
  DivideToMultiply() {
    auto divisor = pattern::wrap_type<opset10::Constant>();
    auto divide = pattern::wrap_type<opset10::Divide>({pattern::any_input(), divisor},
                                                      pattern::type_matches_any({element::f32, element::f16}));
    matcher_pass_callback callback = [=](pattern::Matcher& m) {
      const auto& values = m.get_pattern_value_map();
      auto node = as_type_ptr<opset10::Divide>(m.get_match_root());
      if (!node || transformation_callback(node)) return false;
      const auto& by = values.at(divisor);
      auto one = opset10::Constant::create(by.get_element_type(), Shape{}, {1});
      auto factor = std::make_shared<opset10::Divide>(one, by);
      auto product = register_new_node<opset10::Multiply>(node->input_value(0), factor);
      product->set_friendly_name(node->get_friendly_name());
      copy_runtime_info(node, {factor, product});
      replace_node(node, product);
      return true;
    };
    register_matcher(std::make_shared<pattern::Matcher>(divide, "DivideToMultiply"), callback);
  }
};

/// (a * constant) * constant -> a * (constant * constant)
class JoinFactors : public MatcherPass {
 public:
  OPENVINO_RTTI("JoinFactors", "0");
  JoinFactors() {
    auto data = pattern::any_input();
    auto factor = [] {
      return std::make_shared<pattern::op::Or>(OutputVector{
          pattern::wrap_type<opset10::Constant>(),
          pattern::wrap_type<opset10::Divide>({pattern::wrap_type<opset10::Constant>(), pattern::any_input()})});
    };
    auto first = factor(), second = factor();
    auto inner = pattern::wrap_type<opset10::Multiply>({data, first}, pattern::consumers_count(1));
    auto outer = pattern::wrap_type<opset10::Multiply>({inner, second});
    register_matcher(std::make_shared<pattern::Matcher>(outer), [=](pattern::Matcher& m) {
      auto& found = m.get_pattern_value_map();
      auto factors = std::make_shared<opset10::Multiply>(found.at(first), found.at(second));
      auto product = std::make_shared<opset10::Multiply>(found.at(data), factors);
      product->set_friendly_name(m.get_match_root()->get_friendly_name());
      copy_runtime_info(m.get_match_root(), NodeVector{factors, product});
      replace_node(m.get_match_root(), product);
      return true;
    });
  }
};

class CountKinds : public ModelPass {
 public:
  OPENVINO_MODEL_PASS_RTTI("CountKinds");
  explicit CountKinds(std::map<std::string, int>& counts) : counts_(counts) {}
  bool run_on_model(const std::shared_ptr<Model>& model) override {
    counts_.clear();
    for (const auto& node : model->get_ordered_ops()) ++counts_[node->get_type_info().name];
    return false;
  }

 private:
  std::map<std::string, int>& counts_;
};

}  // namespace pass
}  // namespace ov

namespace {

std::shared_ptr<ov::Model> make_model() {
  auto data = std::make_shared<ov::opset10::Parameter>(ov::element::f32, ov::PartialShape{-1, 3});
  auto constant = [](float value) { return ov::opset10::Constant::create(ov::element::f32, ov::Shape{}, {value}); };
  auto scaled = std::make_shared<ov::opset10::Multiply>(data, constant(3));
  auto divided = std::make_shared<ov::opset10::Divide>(scaled, constant(4));
  divided->set_friendly_name("result");
  divided->get_rt_info()["origin"] = "the importer";
  return std::make_shared<ov::Model>(ov::OutputVector{divided}, ov::ParameterVector{data}, "quotient");
}

}  // namespace

int main(int argc, char* argv[]) {
  try {
    OPENVINO_ASSERT(argc == 2, "usage: ", argv[0], " FOLDER");
    ov::Core core;
    const auto model = make_model();
    std::vector<float> values{8, 16, 24};
    const auto run = [&](const std::shared_ptr<ov::Model>& of) {
      auto request = core.compile_model(of, "CPU").create_infer_request();
      request.set_input_tensor(ov::Tensor(ov::element::f32, {1, 3}, values.data()));
      request.infer();
      const ov::Tensor output = request.get_output_tensor();
      return std::vector<float>(output.data<const float>(), output.data<const float>() + output.get_size());
    };
    const auto expected = run(model);

    // Where the callback says so, nothing is done.
    std::map<std::string, int> counts;
    ov::pass::Manager careful;
    careful.register_pass<ov::pass::DivideToMultiply>()->set_callback(
        [](const std::shared_ptr<const ov::Node>&) { return true; });
    OPENVINO_ASSERT(!careful.run_passes(model), "a layer was replaced that should stay");

    ov::pass::Manager manager;
    auto walk = manager.register_pass<ov::pass::GraphRewrite>();
    walk->add_matcher<ov::pass::DivideToMultiply>();
    walk->add_matcher<ov::pass::JoinFactors>();
    manager.register_pass<ov::pass::ConstantFolding>();
    manager.register_pass<ov::pass::CountKinds>(counts);
    manager.register_pass<ov::pass::Serialize>(std::string(argv[1]) + "/product.xml",
                                               std::string(argv[1]) + "/product.bin");
    OPENVINO_ASSERT(manager.run_passes(model), "nothing was replaced");
    OPENVINO_ASSERT(counts["Divide"] == 0 && counts["Multiply"] == 1 && counts["Constant"] == 1, "there are ",
                    counts["Divide"], " divisions, ", counts["Multiply"], " products and ", counts["Constant"],
                    " constants");
    const auto root = model->get_result()->input_value(0).get_node_shared_ptr();
    OPENVINO_ASSERT(root->get_friendly_name() == "result", "the name is ", root->get_friendly_name());
    OPENVINO_ASSERT(root->get_rt_info().at("origin").as<std::string>() == "the importer", "the origin is lost");
    OPENVINO_ASSERT(run(model) == expected, "other results");
    OPENVINO_ASSERT(run(core.read_model(std::string(argv[1]) + "/product.xml")) == expected,
                    "other results of the file");
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
