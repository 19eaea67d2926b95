// A program's own visitors see attributes of any layer, and change them.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "terroir/op_extension.hpp"
#include "terroir/opsets.hpp"
#include "terroir/terroir.hpp"

namespace terroir {
namespace {

using Texts = std::map<std::string, std::string>;

/// Takes all down as texts.
class Printer : public AttributeVisitor {
 public:
  Texts seen;
  void on_adapter(const std::string& name, ValueAccessor<void>&) override { seen[name] = "?"; }
  void on_adapter(const std::string& name, ValueAccessor<bool>& value) override {
    seen[name] = value.get() ? "bool true" : "bool false";
  }
  void on_adapter(const std::string& name, ValueAccessor<int64_t>& value) override {
    seen[name] = "int " + std::to_string(value.get());
  }
  void on_adapter(const std::string& name, ValueAccessor<double>& value) override {
    seen[name] = "number " + std::to_string(value.get());
  }
  void on_adapter(const std::string& name, ValueAccessor<std::string>& value) override {
    seen[name] = "text " + value.get();
  }
  void on_adapter(const std::string& name, ValueAccessor<std::vector<int64_t>>& value) override {
    seen[name] = "ints";
    for (const int64_t item : value.get()) seen[name] += ' ' + std::to_string(item);
  }
};

/// Looks at one attribute by the adapter all have in common.
class Finder : public AttributeVisitor {
 public:
  explicit Finder(std::string name) : name_(std::move(name)) {}
  bool is_bool = false, is_list = false, value = false;
  void on_adapter(const std::string& name, ValueAccessor<void>& adapter) override {
    if (name != name_) return;
    is_list = is_type<AttributeAdapter<std::vector<int64_t>>>(&adapter);
    if (auto* flag = as_type<AttributeAdapter<bool>>(&adapter)) is_bool = true, value = flag->get();
  }

 private:
  std::string name_;
};

class Setter : public AttributeVisitor {
 public:
  void on_adapter(const std::string& name, ValueAccessor<bool>& value) override {
    if (name == "transpose_b") value.set(true);
  }
  void on_adapter(const std::string& name, ValueAccessor<std::vector<int64_t>>& value) override {
    if (name == "strides") value.set({2, 2});
  }
  void on_adapter(const std::string& name, ValueAccessor<std::string>& value) override {
    if (name == "auto_pad") value.set("same_upper");
    if (name == "side") value.set("sideways");
  }
  using AttributeVisitor::on_adapter;
};

struct Bounds {
  float low = -1, high = 1;
};

}  // namespace

template <>
class AttributeAdapter<Bounds> : public VisitorAdapter {
 public:
  explicit AttributeAdapter(Bounds& value) : value_(value) {}
  bool visit_attributes(AttributeVisitor& visitor) override {
    visitor.on_attribute("low", value_.low);
    visitor.on_attribute("high", value_.high);
    return true;
  }
  static const DiscreteTypeInfo& get_type_info_static() {
    static const DiscreteTypeInfo info{"AttributeAdapter<Bounds>", "0"};
    return info;
  }
  const DiscreteTypeInfo& get_type_info() const override { return get_type_info_static(); }

 private:
  Bounds& value_;
};

namespace {

/// A layer of the program with attributes of several kinds.
class Clip : public op::Op {
 public:
  TERROIR_OP("ClipTo");
  Clip() = default;
  explicit Clip(const Output<Node>& value) : Op({value}) { constructor_validate_and_infer_types(); }
  void validate_and_infer_types() override {
    set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
  }
  std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const override {
    return std::make_shared<Clip>(inputs.at(0));
  }
  bool visit_attributes(AttributeVisitor& visitor) override {
    visitor.on_attribute("bounds", bounds_);
    visitor.on_attribute("strides", axes_);
    visitor.on_attribute("type", type_);
    return true;
  }
  const std::vector<size_t>& axes() const { return axes_; }

 private:
  Bounds bounds_;
  std::vector<size_t> axes_{1, 0};
  element::Type type_ = element::f16;
};

std::shared_ptr<op::v1::Convolution> convolution() {
  const auto image = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{1, 2, 8, 8});
  const auto weights = std::make_shared<op::v0::Constant>(element::f32, Shape{2, 2, 3, 3}, 1.F);
  return std::make_shared<op::v1::Convolution>(image, weights, Strides{1, 1}, CoordinateDiff{1, 1},
                                               CoordinateDiff{1, 1}, Strides{1, 1});
}

TEST(AttributeVisitor, SeesAttributesOfAnyLayerAsWhatTheyComeDownTo) {
  Printer printer;
  EXPECT_TRUE(convolution()->visit_attributes(printer));
  EXPECT_EQ(printer.seen, (Texts{{"strides", "ints 1 1"},
                                 {"dilations", "ints 1 1"},
                                 {"pads_begin", "ints 1 1"},
                                 {"pads_end", "ints 1 1"},
                                 {"auto_pad", "text explicit"}}));
  const auto parameter = std::make_shared<op::v0::Parameter>(element::f16, PartialShape{-1, 3});
  Printer of_parameter;
  parameter->visit_attributes(of_parameter);
  EXPECT_EQ(of_parameter.seen, (Texts{{"element_type", "text f16"}, {"shape", "text [?,3]"}}));
  Printer of_elu;
  std::make_shared<op::v0::Elu>(parameter, 0.5)->visit_attributes(of_elu);
  EXPECT_EQ(of_elu.seen, (Texts{{"alpha", "number 0.500000"}}));
}

TEST(AttributeVisitor, SeesThoseOfLayersOfFilesAndOfThePrograms) {
  const auto layer = convolution();
  const auto model = std::make_shared<Model>(
      OutputVector{layer}, ParameterVector{as_type_ptr<op::v0::Parameter>(layer->get_input_node_shared_ptr(0))});
  const auto copy = model->clone();
  size_t convolutions = 0;
  for (const auto& node : copy->get_ops()) {
    if (node->get_type_name() != std::string("Convolution")) continue;
    Printer printer;
    node->visit_attributes(printer);
    convolutions += printer.seen.at("pads_end") == "ints 1 1";
  }
  EXPECT_EQ(convolutions, 1U);

  const std::shared_ptr<Node> clip = std::make_shared<Clip>(std::make_shared<op::v0::Parameter>());
  Printer printer;
  clip->visit_attributes(printer);
  EXPECT_EQ(printer.seen, (Texts{{"bounds.low", "number -1.000000"},
                                 {"bounds.high", "number 1.000000"},
                                 {"strides", "ints 1 0"},
                                 {"type", "text f16"}}));
}

TEST(AttributeVisitor, TellsKindsApartByTheAdapterTheyHaveInCommon) {
  const auto a = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2, 2});
  const auto product = std::make_shared<op::v0::MatMul>(a, a, true, false);
  Finder transposed("transpose_a"), other("transpose_b"), missing("strides"), list("strides");
  product->visit_attributes(transposed);
  product->visit_attributes(other);
  product->visit_attributes(missing);
  convolution()->visit_attributes(list);
  EXPECT_TRUE(transposed.is_bool && transposed.value);
  EXPECT_TRUE(other.is_bool && !other.value);
  EXPECT_FALSE(missing.is_bool || missing.is_list);
  EXPECT_TRUE(list.is_list && !list.is_bool);
}

TEST(AttributeVisitor, SetsWhatTheLayerThenHas) {
  Setter setter;
  const auto layer = convolution();
  layer->visit_attributes(setter);
  EXPECT_EQ(layer->get_strides(), (Strides{2, 2}));
  EXPECT_EQ(layer->get_auto_pad(), op::PadType::SAME_UPPER);
  layer->validate_and_infer_types();
  EXPECT_EQ(layer->get_output_shape(0), (Shape{1, 2, 4, 4}));

  const auto a = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{2, 3});
  const auto product = std::make_shared<op::v0::MatMul>(a, a, true, false);
  product->visit_attributes(setter);
  EXPECT_TRUE(product->get_transpose_b());

  const auto clip = std::make_shared<Clip>(a);
  clip->visit_attributes(setter);
  EXPECT_EQ(clip->axes(), (std::vector<size_t>{2, 2}));
}

TEST(AttributeVisitor, RefusesValuesThatTheOperationHasNot) {
  class Wrong : public AttributeVisitor {
   public:
    using AttributeVisitor::on_adapter;
    void on_adapter(const std::string& name, ValueAccessor<std::string>& value) override {
      if (name == "auto_pad") value.set("wherever");
    }
  } wrong;
  const auto layer = convolution();
  try {
    layer->visit_attributes(wrong);
    FAIL() << "it takes any text";
  } catch (const Exception& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("auto_pad"), std::string::npos) << error.what();
  }
  EXPECT_EQ(layer->get_auto_pad(), op::PadType::EXPLICIT);
}

}  // namespace
}  // namespace terroir
