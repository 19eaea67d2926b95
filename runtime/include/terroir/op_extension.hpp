// Classes of layers (terroir/op/op.hpp) as extensions: for a Core, or in a library of their own.
//
//   core.add_extension<Scale>();
//   core.add_extension(std::make_shared<OpExtension<Scale>>());
//   TERROIR_CREATE_EXTENSIONS(std::vector<Extension::Ptr>({std::make_shared<OpExtension<Scale>>()}))   // a library
//
// What: header-only, over terroir/extension.hpp. A library that uses it links with Terroir's.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "terroir/core.hpp"
#include "terroir/extension.hpp"
#include "terroir/op/constant.hpp"
#include "terroir/op/ends.hpp"
#include "terroir/op/op.hpp"
#include "terroir/parallel.hpp"

namespace terroir {
namespace detail {

static_assert(static_cast<int>(element::Type_t::f8e5m2) == TERROIR_F8E5M2 &&
                  static_cast<int>(element::Type_t::u1) == TERROIR_U1 &&
                  static_cast<int>(element::Type_t::f8e8m0) == TERROIR_F8E8M0 + 1,
              "element types are those of the boundary, but for texts");
inline element::Type from_boundary(terroir_element type) {
  return static_cast<element::Type_t>(type >= TERROIR_F4E2M1 ? type + 1 : type);
}
inline terroir_element to_boundary(const element::Type& type) {
  const auto number = static_cast<terroir_element>(static_cast<element::Type_t>(type));
  if (type == element::string) throw Exception(ErrorCode::unsupported, "layers of extensions take no tensors of texts");
  return type == element::f4e2m1 || type == element::f8e8m0 ? number - 1 : number;
}

inline PartialShape from_boundary(const extension::Shape& shape) {
  if (!shape) return PartialShape::dynamic();
  std::vector<Dimension> extents;
  for (const extension::Dimension& d : *shape) extents.emplace_back(d.min, d.max);
  return extents;
}
inline extension::Shape to_boundary(const PartialShape& shape) {
  if (shape.rank().is_dynamic()) return std::nullopt;
  std::vector<extension::Dimension> extents;
  for (const Dimension& d : shape) extents.emplace_back(d.get_min_length(), d.get_max_length());
  return extents;
}
inline Shape shape_of(const extension::Tensor& tensor) {
  const std::vector<int64_t> dims = tensor.dims();
  return Shape(dims.begin(), dims.end());
}

/// What feeds an object that is asked for shapes.
inline Output<Node> unknown_input(terroir_element type, const PartialShape& shape) {
  return std::make_shared<op::v0::Parameter>(from_boundary(type), shape);
}
inline Output<Node> known_input(const extension::Tensor& value) {
  constexpr size_t kMostBytes = 65536;  // what shapes depend on is small, and every object has a copy
  const element::Type type = from_boundary(value.type());
  const Tensor theirs(type, shape_of(value), static_cast<const void*>(value.data<char>()));
  if (theirs.get_byte_size() > kMostBytes) return unknown_input(value.type(), theirs.get_shape());
  return std::make_shared<op::v0::Constant>(theirs);
}

/// An attribute of a class.
struct AttributeOfClass {
  std::string name;
  AttributeValue initial;
};

class AttributeCollector : public AttributeVisitor {
 public:
  std::vector<AttributeOfClass> found;

 protected:
  bool on_value(const std::string& name, AttributeValue& value) override {
    found.push_back({name, value});
    return false;
  }
};

/// Gives an object its attributes; those that default-constructed ones do not name keep their values.
class AttributeSetter : public AttributeVisitor {
 public:
  AttributeSetter(const std::vector<AttributeOfClass>& attributes, const std::vector<AttributeValue>& values)
      : attributes_(attributes), values_(values) {}

 protected:
  bool on_value(const std::string& name, AttributeValue& value) override {
    for (size_t i = 0; i < attributes_.size(); ++i) {
      if (attributes_[i].name != name || values_[i].index() != value.index()) continue;
      value = values_[i];
      return true;
    }
    return false;
  }

 private:
  const std::vector<AttributeOfClass>& attributes_;
  const std::vector<AttributeValue>& values_;
};

/// An output that evaluate() has left: to its place, with its extents to the host.
inline void take_output(const op::Op& layer, const extension::Run& run, size_t index, const Tensor& made) {
  const auto number = static_cast<int32_t>(index);
  const extension::Tensor place = run.output(number);
  const Shape room = shape_of(place), &shape = made.get_shape();
  const bool may_shrink = layer.get_output_partial_shape(index).is_dynamic();
  bool fits = made.get_element_type() == from_boundary(place.type()) && shape.size() == room.size();
  for (size_t axis = 0; fits && axis < room.size(); ++axis)
    fits = shape[axis] == room[axis] || (may_shrink && shape[axis] < room[axis]);
  if (!fits)
    throw Exception(ErrorCode::shape_mismatch, std::string("evaluate() of ") + layer.get_type_name() +
                                                   " makes output " + std::to_string(index) + " " +
                                                   made.get_element_type().to_string() + shape.to_string() +
                                                   ", it has to be " + from_boundary(place.type()).to_string() +
                                                   (may_shrink ? " of at most " : "") + room.to_string());
  if (made.data() != place.data<void>() && made.get_byte_size() > 0)
    made.copy_to(Tensor(made.get_element_type(), shape, place.data<void>()));
  if (shape != room) run.set_extents(number, std::vector<int64_t>(shape.begin(), shape.end()));
}

inline void evaluate(const op::Op& layer, const extension::Run& run) {
  if (static_cast<size_t>(run.output_count()) != layer.get_output_size())
    throw Exception(ErrorCode::shape_mismatch, std::string(layer.get_type_name()) + " has " +
                                                   std::to_string(layer.get_output_size()) + " outputs, the model " +
                                                   std::to_string(run.output_count()));
  TensorVector inputs, outputs;
  for (int32_t i = 0; i < run.input_count(); ++i) {
    const extension::Tensor input = run.input(i);
    inputs.emplace_back(from_boundary(input.type()), shape_of(input), static_cast<const void*>(input.data<void>()));
  }
  for (int32_t i = 0; i < run.output_count(); ++i) {
    const extension::Tensor output = run.output(i);
    outputs.emplace_back(from_boundary(output.type()), shape_of(output), output.data<void>());
  }
  const LoopRunner loops{[](const void* of, int64_t parts, LoopPart part, void* context) {
                           static_cast<const extension::Run*>(of)->parallel_for(
                               parts, [&](int64_t number) { part(context, number); });
                         },
                         &run};
  const Meanwhile<const LoopRunner*> of_this_layer(loop_runner, &loops);
  if (!layer.evaluate(outputs, inputs, EvaluationContext()))
    throw Exception(ErrorCode::unsupported, std::string("evaluate() of ") + layer.get_type_name() +
                                                " returns false: it computes nothing for these types and shapes");
  for (size_t i = 0; i < outputs.size(); ++i) take_output(layer, run, i, outputs[i]);
}

/// A class of layers as terroir/extension.hpp wants them.
template <typename Class>
struct LayerOfClass : extension::Layer {
  static constexpr const char* type = "";  // description_of() knows it
  static constexpr int32_t min_inputs = 0;
  static constexpr int32_t max_inputs = -1;
  static constexpr int32_t outputs = -1;

  LayerOfClass() {
    for (const AttributeOfClass& attribute : attributes()) values_.push_back(attribute.initial);
  }
  template <typename Visitor>
  void visit(Visitor& attribute) {
    for (size_t i = 0; i < values_.size(); ++i)
      std::visit([&](auto& value) { attribute(attributes()[i].name.c_str(), value); }, values_[i]);
  }
  void infer(extension::Inference& in) const {
    OutputVector inputs;
    for (int32_t i = 0; i < in.input_count(); ++i) {
      const std::optional<extension::Tensor> value = in.value(i);
      inputs.push_back(value ? known_input(*value) : unknown_input(in.type(i), from_boundary(in.shape(i))));
    }
    const std::shared_ptr<Class> object = made(inputs);
    for (size_t i = 0; i < object->get_output_size(); ++i)
      in.set_output(static_cast<int32_t>(i), to_boundary(object->get_output_element_type(i)),
                    to_boundary(object->get_output_partial_shape(i)));
  }
  void prepare(const extension::Preparation& known) {
    OutputVector inputs;
    for (int32_t i = 0; i < known.input_count(); ++i) {
      const extension::Tensor input = known.input(i);
      inputs.push_back(input.data<void>() != nullptr ? known_input(input)
                                                     : unknown_input(input.type(), shape_of(input)));
    }
    object_ = made(inputs);
  }
  void compute(const extension::Run& run) const { evaluate(*object_, run); }

 private:
  static const std::vector<AttributeOfClass>& attributes() {
    static const std::vector<AttributeOfClass>& found = *new std::vector<AttributeOfClass>([] {
      AttributeCollector collector;
      std::make_shared<Class>()->visit_attributes(collector);
      return std::move(collector.found);
    }());  // lives as long as the process
    return found;
  }
  std::shared_ptr<Class> made(const OutputVector& inputs) const {
    const auto object = std::make_shared<Class>();
    object->set_friendly_name(Class::get_type_info_static().name);  // for errors: nobody tells it the layer's
    AttributeSetter setter(attributes(), values_);
    object->visit_attributes(setter);
    static_cast<Node&>(*object).set_arguments(inputs);
    static_cast<op::Op&>(*object).validate_and_infer_types();
    return object;
  }

  std::vector<AttributeValue> values_;
  std::shared_ptr<const Class> object_;
};

template <typename Class>
const terroir_extension* description_of() {
  static_assert(std::is_default_constructible_v<Class>,
                "a layer's class needs a default constructor: objects that compute get inputs and attributes later");
  static const terroir_layer layer = [] {
    const DiscreteTypeInfo& info = Class::get_type_info_static();
    know_class(info);
    terroir_layer described = *extension::detail::described<LayerOfClass<Class>>();
    described.type = info.name;
    described.opset = info.version_id;
    return described;
  }();
  static const terroir_layer* const layers[] = {&layer};
  static const terroir_extension description{
      sizeof(terroir_extension), TERROIR_ABI_VERSION, layer.type, 1, layers, 0, nullptr};
  return &description;
}

/// One description of all that a library brings; it lives as long as the process.
inline const terroir_extension* joined(const std::vector<std::shared_ptr<Extension>>& extensions) {
  struct Lists {
    std::vector<const terroir_layer*> layers;
    std::vector<const terroir_device*> devices;
  };
  Lists& lists = *new Lists;
  for (const auto& extension : extensions) {
    if (extension == nullptr) {
      lists.layers.push_back(nullptr);  // the host says that it is
      continue;
    }
    const terroir_extension& one = *extension->description();
    lists.layers.insert(lists.layers.end(), one.layers, one.layers + one.layer_count);
    lists.devices.insert(lists.devices.end(), one.devices, one.devices + one.device_count);
  }
  return new terroir_extension{sizeof(terroir_extension), TERROIR_ABI_VERSION,
                               "layers that are classes", static_cast<uint32_t>(lists.layers.size()),
                               lists.layers.data(),       static_cast<uint32_t>(lists.devices.size()),
                               lists.devices.data()};
}

}  // namespace detail

/// What makes layers of one type.
class BaseOpExtension : public Extension {
 public:
  using Ptr = std::shared_ptr<BaseOpExtension>;
  virtual const DiscreteTypeInfo& get_type_info() const = 0;
  /// A layer that reads `inputs` and gets its attributes from the visitor; its outputs.
  virtual OutputVector create(const OutputVector& inputs, AttributeVisitor& visitor) const = 0;
  virtual std::vector<Extension::Ptr> get_attached_extensions() const = 0;
  /// Layers of files are computed by objects of a class, which the program has to name.
  const terroir_extension* description() const override {
    throw Exception(ErrorCode::unsupported,
                    "an extension for '" + std::string(get_type_info().name) +
                        "' that is no OpExtension; give Core::add_extension() the OpExtension of "
                        "a class derived from op::Op");
  }
};

/// A class of layers for Core::add_extension().
template <typename Layer>
class OpExtension : public BaseOpExtension {
  static_assert(std::is_base_of_v<op::Op, Layer>, "the class of a layer is derived from op::Op");

 public:
  const terroir_extension* description() const override { return detail::description_of<Layer>(); }
  const DiscreteTypeInfo& get_type_info() const override { return Layer::get_type_info_static(); }
  OutputVector create(const OutputVector& inputs, AttributeVisitor& visitor) const override {
    const auto layer = std::make_shared<Layer>();
    layer->set_arguments(inputs);
    layer->visit_attributes(visitor);
    static_cast<op::Op&>(*layer).constructor_validate_and_infer_types();
    return layer->outputs();
  }
  std::vector<Extension::Ptr> get_attached_extensions() const override { return {}; }
};

}  // namespace terroir

/// Once per library: the list of what it brings, a std::vector<Extension::Ptr>.
#define TERROIR_CREATE_EXTENSIONS(...)                                                                            \
  extern "C" TERROIR_EXTENSION_EXPORT const terroir_extension* terroir_get_extension(uint32_t host_abi_version) { \
    if (host_abi_version < TERROIR_ABI_VERSION) return nullptr;                                                   \
    static const terroir_extension* const all = ::terroir::detail::joined(__VA_ARGS__);                           \
    return all;                                                                                                   \
  }
