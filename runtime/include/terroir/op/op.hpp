// Layers of your own as classes, the way OpenVINO's programs write them. (terroir/extension.hpp is the way that needs
// no library to link with, splits its work among threads, keeps states and takes blocked layouts.)
//
//   class Scale : public terroir::op::Op {
//    public:
//     TERROIR_OP("Scale");                                         // <layer type="Scale" version="extension">
//     Scale() = default;
//     Scale(const Output<Node>& arg, float by) : Op({arg}), by_(by) { constructor_validate_and_infer_types(); }
//     void validate_and_infer_types() override {
//       set_output_type(0, get_input_element_type(0), get_input_partial_shape(0));
//     }
//     std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& args) const override {
//       return std::make_shared<Scale>(args.at(0), by_);
//     }
//     bool visit_attributes(AttributeVisitor& visitor) override { visitor.on_attribute("by", by_); return true; }
//     bool evaluate(TensorVector& outputs, const TensorVector& inputs) const override { ... return true; }
//    private:
//     float by_ = 1;
//   };
//   core.add_extension<Scale>();                                   // for files; layers made in code need nothing
//
// What: a layer made in code is one object, which infers itself. A layer of a file, or of a model that is reshaped or
//       compiled, is computed by objects that the runtime makes with the default constructor, gives the attributes and
//       inputs, and asks: one for every inference of shapes, one for all inferences of a compiled model with the same
//       shapes.
// Attributes: those that a default-constructed object names; its values are the defaults. Of a layer made in code they
//       are those of the time when constructor_validate_and_infer_types() is called.
// Inputs: validate_and_infer_types() finds values that are known, of up to 64 KiB, as Constants behind input_value().
// Outputs: as many as validate_and_infer_types() sets. Where extents stay unknown although all inputs are known,
//       evaluate() gets memory for the upper bounds and calls set_shape() on the output.
// Errors: what validate_and_infer_types() and evaluate() throw comes with the layer's name; evaluate() that returns
//       false is an error.
// Threads: evaluate() of one object may run on several threads at once; so may visit_attributes() with visitors that
//       only read, where one model is compiled by several.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <type_traits>

#include "terroir/attribute_visitor.hpp"
#include "terroir/broadcast_adapters.hpp"
#include "terroir/export.hpp"
#include "terroir/node.hpp"
#include "terroir/op/layer.hpp"
#include "terroir/tensor.hpp"

typedef struct terroir_extension terroir_extension;

namespace terroir {

template <typename Layer>
class OpExtension;

namespace detail {

/// A layer of which nothing is known but its inputs.
TERROIR_API NodeHandle make_custom_layer(const OutputVector& inputs);
/// It is one of the only operation in this description, which lives as long as the process.
TERROIR_API void name_custom_layer(const Node& layer, const terroir_extension* description, const AnyMap& attributes);
/// Layers of files that are of this class are said to be derived from what it is derived from. It lives as long as the
/// process.
TERROIR_API void know_class(const DiscreteTypeInfo& info);
TERROIR_API void set_custom_outputs(const Node& layer, size_t count);
TERROIR_API void set_custom_output(const Node& layer, size_t index, const element::Type& type,
                                   const PartialShape& shape);

/// Takes the attributes down.
class AttributeReader : public AttributeVisitor {
 public:
  AnyMap values;

 protected:
  bool on_value(const std::string& name, AttributeValue& value) override {
    std::visit([&](const auto& plain) { values[name] = plain; }, value);
    return false;
  }
};

/// Gives an object the attributes of a layer as texts; those that the layer does not have keep their values.
class AttributeParser : public AttributeVisitor {
 public:
  explicit AttributeParser(const std::map<std::string, std::string>& texts) : texts_(texts) {}

 protected:
  bool on_value(const std::string& name, AttributeValue& value) override {
    const auto text = texts_.find(name);
    if (text == texts_.end()) return false;
    std::visit([&](auto& plain) { plain = parse_value<std::decay_t<decltype(plain)>>(text->second); }, value);
    return true;
  }

 private:
  const std::map<std::string, std::string>& texts_;
};

/// The class to the runtime; terroir/op_extension.hpp.
template <typename Layer>
const terroir_extension* description_of();

}  // namespace detail

namespace op {

/// Base of layers that are classes.
class Op : public Node {
 public:
  static const DiscreteTypeInfo& get_type_info_static() {
    static const DiscreteTypeInfo info{"Op", "util"};
    return info;
  }
  /// TERROIR_OP defines these.
  const DiscreteTypeInfo& get_type_info() const override = 0;
  virtual const terroir_extension* get_description() const = 0;
  const char* get_type_name() const { return get_type_info().name; }

  /// Checks the inputs and calls set_output_type() for every output.
  void validate_and_infer_types() override = 0;
  bool visit_attributes(AttributeVisitor&) override { return true; }
  /// Computes the outputs; false: it cannot.
  bool evaluate(TensorVector&, const TensorVector&) const override { return false; }
  /// The same, told what the inference is for: nothing here. A class may have this one only.
  bool evaluate(TensorVector& outputs, const TensorVector& inputs, const EvaluationContext&) const override {
    return evaluate(outputs, inputs);
  }
  bool has_evaluate() const override { return false; }
  /// A layer of this class with these attributes that reads `inputs`.
  virtual std::shared_ptr<Node> clone_with_new_inputs(const OutputVector& inputs) const = 0;

  /// A default-constructed layer gets its inputs with it, and then its attributes are those of now.
  void set_arguments(const OutputVector& inputs) {
    if (!is_told_) name();
    Node::set_arguments(inputs);
  }
  void set_arguments(const NodeVector& inputs) { set_arguments(OutputVector(inputs.begin(), inputs.end())); }
  void set_argument(size_t index, const Output<Node>& source) {
    if (!is_told_) name();
    Node::set_argument(index, source);
  }
  void set_output_size(size_t outputs) { detail::set_custom_outputs(*this, outputs); }
  void set_output_type(size_t output, const element::Type& type, const PartialShape& shape) {
    detail::set_custom_output(*this, output, type, shape);
  }
  /// The values of all inputs count for shapes: nothing has to be told.
  void set_input_is_relevant_to_shape(size_t, bool = true) {}
  void set_input_is_relevant_to_value(size_t, bool = true) {}

 protected:
  Op() : Op(OutputVector()) {}
  explicit Op(const OutputVector& inputs) : Node(detail::make_custom_layer(inputs)) {}

  /// Constructors with inputs end with it.
  void constructor_validate_and_infer_types() {
    name();
    validate_and_infer_types();
  }

 private:
  template <typename T, typename>
  friend struct detail::ObjectMaker;
  template <typename Layer>
  friend class terroir::OpExtension;

  AnyMap attribute_values() {
    detail::AttributeReader attributes;
    visit_attributes(attributes);
    return std::move(attributes.values);
  }
  /// Tells the model what the layer is.
  void name() {
    told_ = attribute_values();
    detail::name_custom_layer(*this, get_description(), told_);
    is_told_ = true;
  }
  bool tell_attributes(AnyMap* instead) override {
    // One that nobody has given inputs or a name has none to tell; with outputs, it is a layer without inputs.
    if (!is_told_ && instead == nullptr && get_output_size() > 0) return name(), true;
    if (!is_told_) return false;
    AnyMap now = attribute_values();
    if (now == told_) return false;
    if (instead == nullptr) detail::set_attributes(*this, now);
    (instead != nullptr ? *instead : told_) = std::move(now);
    return true;
  }

  AnyMap told_;  // the attributes of the layer as the model knows them
  bool is_told_ = false;
};

}  // namespace op

namespace detail {

/// A layer that the program has not made as such an object gets one with its attributes.
template <typename T>
struct ObjectMaker<T, std::enable_if_t<std::is_base_of_v<op::Op, T>>> {
  static std::shared_ptr<Node> make(const NodeHandle& handle) {
    const auto object = std::make_shared<T>();
    stand_for(*object, handle);
    const std::map<std::string, std::string> texts = object->Node::get_attributes();
    AttributeParser parser(texts);
    object->visit_attributes(parser);
    op::Op& layer = *object;
    layer.told_ = layer.attribute_values();
    layer.is_told_ = true;
    return object;
  }
};

}  // namespace detail

/// Throws Exception (invalid_argument) unless there are as many as the layer reads.
inline void check_new_args_count(const op::Op* layer, const OutputVector& inputs) {
  if (inputs.size() != layer->get_input_size())
    throw Exception(ErrorCode::invalid_argument, std::string(layer->get_type_name()) + " takes " +
                                                     std::to_string(layer->get_input_size()) + " inputs, got " +
                                                     std::to_string(inputs.size()));
}

}  // namespace terroir

/// In the public part of a class: TERROIR_OP(type), (type, version), (type, version, base class); as files have them,
/// the version is "extension" unless it is said. is_type() takes a layer for one of its base class, too.
#define TERROIR_OP(...) TERROIR_OP_PICK(__VA_ARGS__, TERROIR_OP_OF, TERROIR_OP_IN, TERROIR_OP_NAMED, )(__VA_ARGS__)
#define TERROIR_OP_PICK(first, second, third, form, ...) form
#define TERROIR_OP_NAMED(type_name) TERROIR_OP_IN(type_name, "extension")
#define TERROIR_OP_IN(type_name, type_version) TERROIR_OP_OF(type_name, type_version, ::terroir::op::Op)
#define TERROIR_OP_OF(type_name, type_version, Base)                                                                 \
  static const ::terroir::DiscreteTypeInfo& get_type_info_static() {                                                 \
    static const ::terroir::DiscreteTypeInfo info{type_name, type_version, ::terroir::detail::type_info_of<Base>()}; \
    return info;                                                                                                     \
  }                                                                                                                  \
  const ::terroir::DiscreteTypeInfo& get_type_info() const override { return get_type_info_static(); }               \
  const ::terroir_extension* get_description() const override {                                                      \
    return ::terroir::detail::description_of<std::decay_t<decltype(*this)>>();                                       \
  }

#include "terroir/op_extension.hpp"
