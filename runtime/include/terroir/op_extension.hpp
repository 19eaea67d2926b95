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
#include <mutex>
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

inline OutputVector inputs_for(const extension::Inference& in) {
  OutputVector inputs;
  for (int32_t i = 0; i < in.input_count(); ++i) {
    const std::optional<extension::Tensor> value = in.value(i);
    inputs.push_back(value ? known_input(*value) : unknown_input(in.type(i), from_boundary(in.shape(i))));
  }
  return inputs;
}
inline OutputVector inputs_for(const extension::Preparation& known) {
  OutputVector inputs;
  for (int32_t i = 0; i < known.input_count(); ++i) {
    const extension::Tensor input = known.input(i);
    inputs.push_back(input.data<void>() != nullptr ? known_input(input) : unknown_input(input.type(), shape_of(input)));
  }
  return inputs;
}
inline void tell_outputs(const OutputVector& outputs, extension::Inference& in) {
  for (size_t i = 0; i < outputs.size(); ++i)
    in.set_output(static_cast<int32_t>(i), to_boundary(outputs[i].get_element_type()),
                  to_boundary(outputs[i].get_partial_shape()));
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

/// An output of a layer that has been computed: to its place, with its extents to the host.
inline void take_output(const DiscreteTypeInfo& layer, const PartialShape& said, const extension::Run& run,
                        size_t index, const Tensor& made) {
  const auto number = static_cast<int32_t>(index);
  const extension::Tensor place = run.output(number);
  const Shape room = shape_of(place), &shape = made.get_shape();
  const bool may_shrink = said.is_dynamic();
  bool fits = made.get_element_type() == from_boundary(place.type()) && shape.size() == room.size();
  for (size_t axis = 0; fits && axis < room.size(); ++axis)
    fits = shape[axis] == room[axis] || (may_shrink && shape[axis] < room[axis]);
  if (!fits)
    throw Exception(ErrorCode::shape_mismatch, std::string("evaluate() of ") + layer.name + " makes output " +
                                                   std::to_string(index) + " " + made.get_element_type().to_string() +
                                                   shape.to_string() + ", it has to be " +
                                                   from_boundary(place.type()).to_string() +
                                                   (may_shrink ? " of at most " : "") + room.to_string());
  if (made.data() != place.data<void>() && made.get_byte_size() > 0)
    made.copy_to(Tensor(made.get_element_type(), shape, place.data<void>()));
  if (shape != room) run.set_extents(number, std::vector<int64_t>(shape.begin(), shape.end()));
}

/// The inputs of a layer that runs.
inline TensorVector inputs_of(const extension::Run& run) {
  TensorVector inputs;
  for (int32_t i = 0; i < run.input_count(); ++i) {
    const extension::Tensor input = run.input(i);
    inputs.emplace_back(from_boundary(input.type()), shape_of(input), static_cast<const void*>(input.data<void>()));
  }
  return inputs;
}

inline void evaluate(const op::Op& layer, const extension::Run& run) {
  if (static_cast<size_t>(run.output_count()) != layer.get_output_size())
    throw Exception(ErrorCode::shape_mismatch, std::string(layer.get_type_name()) + " has " +
                                                   std::to_string(layer.get_output_size()) + " outputs, the model " +
                                                   std::to_string(run.output_count()));
  const TensorVector inputs = inputs_of(run);
  TensorVector outputs;
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
  if (outputs.size() != layer.get_output_size())
    throw Exception(ErrorCode::shape_mismatch, std::string("evaluate() of ") + layer.get_type_name() + " leaves " +
                                                   std::to_string(outputs.size()) + " outputs, the layer has " +
                                                   std::to_string(layer.get_output_size()));
  for (size_t i = 0; i < outputs.size(); ++i)
    take_output(layer.get_type_info(), layer.get_output_partial_shape(i), run, i, outputs[i]);
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
  void infer(extension::Inference& in) const { tell_outputs(made(inputs_for(in))->outputs(), in); }
  void prepare(const extension::Preparation& known) { object_ = made(inputs_for(known)); }
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

namespace detail {

/// What the runtime knows of an extension; of a copy, nothing yet.
struct KnownDescription {
  KnownDescription() = default;
  KnownDescription(const KnownDescription&) {}
  KnownDescription& operator=(const KnownDescription&) { return *this; }
  std::once_flag once;
  const terroir_extension* value = nullptr;
};

}  // namespace detail

/// What makes layers of one type: a class that says how, by create(). Where what it makes is no object derived from
/// op::Op, but operations of the library, the layer is computed by their slow references.
class BaseOpExtension : public Extension {
 public:
  using Ptr = std::shared_ptr<BaseOpExtension>;
  virtual const DiscreteTypeInfo& get_type_info() const = 0;
  /// A layer that reads `inputs` and gets its attributes from the visitor; its outputs. It is asked once without a
  /// model, with inputs of unknown types and shapes, to learn the names of the attributes; several threads may ask.
  virtual OutputVector create(const OutputVector& inputs, AttributeVisitor& visitor) const = 0;
  std::vector<Extension::Ptr> get_attached_extensions() const override = 0;
  /// Keeps this extension as long as the process lives. Throws Exception (invalid_argument) for one that no
  /// std::shared_ptr owns.
  inline const terroir_extension* description() const override;  // else each file that sees the class had its code

 private:
  mutable detail::KnownDescription known_;
};

namespace detail {

/// Layers that a program's BaseOpExtension makes, to the runtime. It lives as long as the process.
class LayersOfMaker {
 public:
  explicit LayersOfMaker(std::shared_ptr<const BaseOpExtension> maker)
      : maker_(std::move(maker)), attributes_(attributes_of(*maker_)) {
    for (AttributeOfClass& attribute : attributes_)
      std::visit([&](auto& initial) { described_(attribute.name.c_str(), initial); }, attribute.initial);
    const DiscreteTypeInfo& info = maker_->get_type_info();
    know_class(info);
    layer_.struct_size = sizeof layer_;
    layer_.abi_version = TERROIR_ABI_VERSION;
    layer_.type = info.name;
    layer_.opset = info.version_id;
    layer_.max_inputs = layer_.outputs = -1;
    layer_.attribute_count = static_cast<uint32_t>(described_.attributes.size());
    layer_.attributes = described_.attributes.data();
    layer_.user = this;
    layer_.infer = &infer;
    layer_.create = &create;
    layer_.destroy = &destroy;
    layer_.scratch_bytes = [](void*, const void*, int32_t) { return uint64_t{0}; };
    layer_.compute = &compute;
  }
  const terroir_extension* description() const { return &description_; }

 private:
  /// A layer of a compiled model: an object that computes itself, or operations that are what it stands for.
  struct Made {
    DiscreteTypeInfo type;
    OutputVector outputs;
    std::shared_ptr<const op::Op> object;
    std::shared_ptr<const Model> model;
  };

  static std::vector<AttributeOfClass> attributes_of(const BaseOpExtension& maker) {
    constexpr size_t kMostInputs = 8;
    OutputVector inputs;
    while (true) {
      AttributeCollector collector;
      try {
        maker.create(inputs, collector);
        return std::move(collector.found);
      } catch (const std::exception&) {
        // It has told its attributes before it looked at its inputs, or it wants more of them.
        if (!collector.found.empty() || inputs.size() == kMostInputs) return std::move(collector.found);
      }
      inputs.push_back(std::make_shared<op::v0::Parameter>());
    }
  }
  OutputVector made(const OutputVector& inputs, const terroir_host& host, const terroir_attributes* read) const {
    std::vector<AttributeValue> values;
    extension::detail::Reading reading(host, read);
    for (const AttributeOfClass& attribute : attributes_) {
      values.push_back(attribute.initial);
      std::visit([&](auto& value) { reading(attribute.name.c_str(), value); }, values.back());
    }
    AttributeSetter setter(attributes_, values);
    OutputVector outputs = maker_->create(inputs, setter);
    if (outputs.empty())
      throw Exception(ErrorCode::invalid_argument, std::string("create() of ") + layer_.type + " returns no outputs");
    return outputs;
  }

  static int32_t infer(void* user, const terroir_host* host, const terroir_attributes* attributes,
                       terroir_inference* inference, terroir_error* error) {
    return extension::detail::guarded(*host, error, [&] {
      extension::Inference in(*host, inference, -1);
      tell_outputs(static_cast<const LayersOfMaker*>(user)->made(inputs_for(in), *host, attributes), in);
    });
  }
  static int32_t create(void* user, const terroir_host* host, const terroir_attributes* attributes, int32_t input_count,
                        const terroir_tensor* inputs, int32_t, const terroir_tensor* outputs, void** instance,
                        terroir_error* error) {
    return extension::detail::guarded(*host, error, [&] {
      const auto& self = *static_cast<const LayersOfMaker*>(user);
      const extension::Preparation known(input_count, inputs, outputs);
      auto layer = std::make_unique<Made>(Made{self.maker_->get_type_info(), {}, nullptr, nullptr});
      layer->outputs = self.made(inputs_for(known), *host, attributes);
      const auto node = layer->outputs.front().get_node_shared_ptr();
      if (layer->outputs == node->outputs()) layer->object = std::dynamic_pointer_cast<const op::Op>(node);
      if (layer->object == nullptr) {
        ParameterVector parameters;
        for (int32_t i = 0; i < known.input_count(); ++i)
          parameters.push_back(
              std::make_shared<op::v0::Parameter>(from_boundary(known.input(i).type()), shape_of(known.input(i))));
        layer->outputs = self.made(OutputVector(parameters.begin(), parameters.end()), *host, attributes);
        layer->model = std::make_shared<Model>(layer->outputs, parameters);
      }
      *instance = layer.release();
    });
  }
  static void destroy(void*, void* instance) { delete static_cast<Made*>(instance); }
  static int32_t compute(void*, const void* instance, const terroir_host* host, const terroir_attributes*,
                         terroir_run* started, int32_t input_count, const terroir_tensor* inputs, int32_t output_count,
                         const terroir_tensor* outputs, void* scratch, terroir_error* error) {
    return extension::detail::guarded(*host, error, [&] {
      const auto& layer = *static_cast<const Made*>(instance);
      const extension::Run run(*host, started, input_count, inputs, output_count, outputs, scratch);
      if (layer.object != nullptr) return evaluate(*layer.object, run);
      TensorVector made;
      layer.model->evaluate(made, inputs_of(run));
      for (size_t i = 0; i < made.size(); ++i)
        take_output(layer.type, layer.model->output(i).get_partial_shape(), run, i, made[i]);
    });
  }

  const std::shared_ptr<const BaseOpExtension> maker_;
  std::vector<AttributeOfClass> attributes_;
  extension::detail::Describing described_;
  terroir_layer layer_{};
  const terroir_layer* const layers_[1] = {&layer_};
  const terroir_extension description_{
      sizeof(terroir_extension), TERROIR_ABI_VERSION, "layers that a program makes", 1, layers_, 0, nullptr};
};

}  // namespace detail

inline const terroir_extension* BaseOpExtension::description() const {
  std::call_once(known_.once, [&] {
    auto self = std::dynamic_pointer_cast<const BaseOpExtension>(weak_from_this().lock());
    if (self == nullptr)
      throw Exception(ErrorCode::invalid_argument,
                      std::string("the extension of '") + get_type_info().name + "' is kept by no std::shared_ptr");
    known_.value = (new detail::LayersOfMaker(std::move(self)))->description();
  });
  return known_.value;
}

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
