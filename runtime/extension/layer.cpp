#include "runtime/extension/layer.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "ir/xml/values.hpp"
#include "runtime/extension/elements.hpp"
#include "runtime/extension/host.hpp"
#include "runtime/extension/instance.hpp"

namespace terroir::custom {
namespace {

template <typename T>
AttributeValue parsed(std::optional<T> value, std::string_view text, const char* kind) {
  if (!value) throw_error(ErrorCode::invalid_argument, "the default '", text, "' is not ", kind);
  return *value;
}

AttributeValue initial_value(const terroir_attribute& attribute) {
  const std::string_view text = attribute.default_value != nullptr ? attribute.default_value : "";
  const bool required = attribute.required != 0;
  using namespace ir::xml;
  switch (attribute.kind) {
    case TERROIR_ATTRIBUTE_BOOLEAN:
      return required ? AttributeValue(false) : parsed(parse_bool(text), text, "true or false");
    case TERROIR_ATTRIBUTE_INTEGER:
      return required ? AttributeValue(int64_t{0}) : parsed(parse_int(text), text, "an integer");
    case TERROIR_ATTRIBUTE_REAL:
      return required ? AttributeValue(0.0) : parsed(parse_real(text), text, "a number");
    case TERROIR_ATTRIBUTE_TEXT:
      return std::string(text);
    case TERROIR_ATTRIBUTE_INTEGERS:
      return required ? AttributeValue(std::vector<int64_t>()) : parsed(parse_ints(text), text, "a list of integers");
    case TERROIR_ATTRIBUTE_REALS:
      return required ? AttributeValue(std::vector<double>()) : parsed(parse_reals(text), text, "a list of numbers");
    default:
      throw_error(ErrorCode::invalid_argument, "kind ", attribute.kind, " is none of TERROIR_ATTRIBUTE_...");
  }
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find('|'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

Layer::Attribute checked_attribute(const terroir_attribute& attribute, const std::vector<Layer::Attribute>& before) {
  if (attribute.name == nullptr || *attribute.name == '\0')
    throw_error(ErrorCode::invalid_argument, "attribute ", before.size(), " has no name");
  return with_context([&] { return concat("attribute '", attribute.name, "'"); },
                      [&] {
                        for (const Layer::Attribute& other : before)
                          if (other.name == attribute.name)
                            throw_error(ErrorCode::invalid_argument, "it is declared twice");
                        Layer::Attribute result{attribute.name, attribute.required != 0, initial_value(attribute), {}};
                        if (attribute.allowed_values != nullptr) result.allowed = words_of(attribute.allowed_values);
                        return result;
                      });
}

constexpr int32_t kAnyOutputs = -1;
constexpr int32_t kMostOutputs = 1024;   // with states
constexpr int32_t kAnyInputs = 1 << 20;  // that many are any number

void require(bool condition, const char* what) {
  if (!condition) throw_error(ErrorCode::invalid_argument, what);
}

void check_types(const Layer& layer, int inputs, ir::InferContext& context) {
  const uint64_t types = layer.descriptor.input_types;
  for (int input = 0; input < inputs; ++input) {
    const element::Type type = context.type(input);
    if (type.is_dynamic()) continue;
    if (type == element::string) context.fail("input ", input, " has texts, which layers of extensions do not take");
    if (types == 0 || (types & TERROIR_ELEMENT_BIT(to_abi(type))) != 0) continue;
    std::string accepted;
    for (terroir_element one = TERROIR_BOOLEAN; one <= TERROIR_F8E8M0; ++one)
      if ((types & TERROIR_ELEMENT_BIT(one)) != 0)
        accepted += (accepted.empty() ? "" : ", ") + from_abi(one).get_type_name();
    context.fail("input ", input, " is ", type, "; the layer takes ", accepted, " (", layer.source, ")");
  }
}

void check_texts(const LayerAttrs& attrs, ir::InferContext& context) {
  for (size_t i = 0; i < attrs.attributes.values.size(); ++i) {
    const Layer::Attribute& attribute = attrs.layer->attributes[i];
    const auto* text = std::get_if<std::string>(&attrs.attributes.values[i]);
    if (text == nullptr || attribute.allowed.empty()) continue;
    if (std::find(attribute.allowed.begin(), attribute.allowed.end(), *text) != attribute.allowed.end()) continue;
    std::string known;
    for (const std::string& one : attribute.allowed) known += (known.empty() ? "" : ", ") + one;
    context.fail("attribute '", attribute.name, "' is '", *text, "'; it may be ", known);
  }
}

void infer(ir::InferContext& context) {
  const LayerAttrs& attrs = context.attrs<LayerAttrs>();
  const terroir_layer& descriptor = attrs.layer->descriptor;
  const int inputs = context.input_count() - attrs.states();
  check_types(*attrs.layer, inputs, context);
  check_texts(attrs, context);
  const bool any_outputs = descriptor.outputs == kAnyOutputs;
  const int described = any_outputs ? 1 : descriptor.outputs + descriptor.states;
  terroir_inference inference{context,
                              inputs,
                              any_outputs ? kMostOutputs : descriptor.outputs + attrs.states(),
                              std::vector<bool>(static_cast<size_t>(described)),
                              any_outputs,
                              {},
                              {}};
  call_layer(ErrorCode::invalid_argument, "infer", attrs.layer->source, [&](terroir_error* error) {
    return descriptor.infer(descriptor.user, &host(), &attrs.attributes, &inference, error);
  });
  if (!inference.wrong.empty()) context.fail("infer() of ", attrs.layer->source, ": ", inference.wrong);
  const auto unset = std::find(inference.output_set.begin(), inference.output_set.end(), false);
  if (unset == inference.output_set.end()) return;
  const auto index = unset - inference.output_set.begin();
  const bool is_state = !any_outputs && index >= descriptor.outputs;
  context.fail("infer() of ", attrs.layer->source, " says nothing of ", is_state ? "state " : "output ",
               is_state ? index - descriptor.outputs : index);
}

void reference(const ir::EvalContext& context) {
  const LayerAttrs& attrs = context.attrs<LayerAttrs>();
  if (attrs.states() != attrs.layer->descriptor.states)
    throw_error(ErrorCode::unsupported, "the layer keeps a state from one inference to the next (", attrs.layer->source,
                "): it runs in a compiled model only");
  std::vector<Operand> inputs, outputs;
  std::vector<const void*> sources;
  std::vector<void*> targets;
  std::vector<ir::Dims> extents;
  for (const ir::TensorView& input : context.inputs) {
    inputs.push_back({input.type, input.dims, TERROIR_PLAIN, 1, nullptr});
    sources.push_back(input.data);
  }
  for (const ir::MutableTensorView& output : context.outputs) {
    outputs.push_back({output.type, output.dims, TERROIR_PLAIN, 1, nullptr});
    targets.push_back(output.data);
    extents.push_back(output.dims);
  }
  const Instance instance(attrs, std::move(inputs), std::move(outputs));
  const parallel::Arena alone(1);
  AlignedBuffer scratch(instance.scratch_bytes(1));
  instance.run(sources.data(), targets.data(), scratch.data(), alone, &extents);
  for (size_t i = 0; i < extents.size(); ++i) context.outputs[i].dims = extents[i];
}

}  // namespace

const LayerAttrs* layer_attributes(const ir::Attributes& attributes) {
  const auto* ours = dynamic_cast<const ir::AttributesOf<LayerAttrs>*>(&attributes);
  return ours != nullptr ? &ours->value : nullptr;
}

void check_used_extents(const ir::Node& node, size_t output, const PartialShape& inferred, const ir::Dims& used) {
  const LayerAttrs* const attributes = node.schema->from_extension ? layer_attributes(*node.attributes) : nullptr;
  if (attributes == nullptr || inferred.compatible(PartialShape(std::vector<Dimension>(used.begin(), used.end()))))
    return;
  throw_error(ErrorCode::general, "compute() of ", attributes->layer->source, " says that it used ", used,
              " of output ", output, ", which is ", inferred);
}

Layer checked_layer(const terroir_layer* descriptor, const std::string& source, const std::string& file) {
  if (descriptor == nullptr) throw_error(ErrorCode::invalid_argument, "a layer of the extension is null");
  if (descriptor->abi_version > TERROIR_ABI_VERSION)
    throw_error(ErrorCode::unsupported, "a layer is of version ", descriptor->abi_version,
                " of extension_abi.h; this library knows versions up to ", TERROIR_ABI_VERSION);
  const size_t bytes = descriptor->abi_version >= 3 ? sizeof(terroir_layer) : offsetof(terroir_layer, states);
  if (descriptor->abi_version == 0 || descriptor->struct_size < bytes)
    throw_error(ErrorCode::invalid_argument, "a layer says that it is of version ", descriptor->abi_version,
                " and has ", descriptor->struct_size, " bytes; that version has ", bytes);
  require(descriptor->type != nullptr && *descriptor->type != '\0', "a layer has no type");
  return with_context([&] { return concat("layer ", descriptor->type); },
                      [&] {
                        Layer layer{{}, source, file, {}, nullptr};
                        std::memcpy(&layer.descriptor, descriptor, bytes);  // later members stay 0
                        if (layer.descriptor.opset == nullptr) layer.descriptor.opset = "extension";
                        require(descriptor->infer != nullptr, "it has no infer()");
                        require(descriptor->compute != nullptr, "it has no compute()");
                        require((descriptor->create == nullptr) == (descriptor->destroy == nullptr),
                                "it needs both create() and destroy(), or neither");
                        require(descriptor->min_inputs >= 0, "min_inputs must not be negative");
                        require(descriptor->max_inputs == -1 || descriptor->max_inputs >= descriptor->min_inputs,
                                "max_inputs must be -1 or at least min_inputs");
                        require(layer.descriptor.states >= 0, "states must not be negative");
                        require(descriptor->outputs >= 1 || descriptor->outputs == kAnyOutputs,
                                "it needs at least one output");
                        require(int64_t{descriptor->outputs} + layer.descriptor.states <= kMostOutputs,
                                "it may have at most 1024 outputs and states");
                        require(descriptor->min_inputs <= kAnyInputs, "min_inputs must be at most 1048576");
                        if (descriptor->max_inputs > kAnyInputs) layer.descriptor.max_inputs = -1;
                        require(descriptor->outputs != kAnyOutputs || layer.descriptor.states == 0,
                                "a layer with states must say how many outputs it has");
                        require(descriptor->attribute_count == 0 || descriptor->attributes != nullptr,
                                "attribute_count is not 0, but attributes is null");
                        for (uint32_t i = 0; i < descriptor->attribute_count; ++i)
                          layer.attributes.push_back(checked_attribute(descriptor->attributes[i], layer.attributes));
                        return layer;
                      });
}

ir::OpSchema make_schema(const Layer& layer, States states) {
  const terroir_layer& descriptor = layer.descriptor;
  LayerAttrs initial{&layer, {}, states == States::ports};
  for (const Layer::Attribute& attribute : layer.attributes) initial.attributes.values.push_back(attribute.initial);
  ir::OpSchema schema;
  schema.type = descriptor.type;
  schema.opset = descriptor.opset;
  if (states == States::ports) schema.opset += " with states";
  const int ports = initial.states();
  schema.arity = {descriptor.min_inputs + ports,
                  descriptor.max_inputs == -1 ? ir::kVariadic : descriptor.max_inputs + ports,
                  descriptor.outputs == kAnyOutputs ? ir::kVariadic : descriptor.outputs + ports};
  schema.make_attributes = ir::AttributesFactory(ir::make_attributes_of(std::move(initial)));
  schema.from_extension = true;
  schema.infer = &infer;
  schema.reference = &reference;
  schema.accuracy = (descriptor.flags & TERROIR_LAYER_EXACT) != 0 ? ir::Accuracy::exact : ir::Accuracy::rounding;
  const bool keeps = descriptor.states > 0 && states == States::kept;
  schema.flags.pure = (descriptor.flags & TERROIR_LAYER_IMPURE) == 0 && !keeps;
  schema.flags.elementwise = (descriptor.flags & TERROIR_LAYER_ELEMENTWISE) != 0 && descriptor.states == 0;
  schema.flags.maps_zero_to_zero = (descriptor.flags & TERROIR_LAYER_MAPS_ZERO_TO_ZERO) != 0;
  return schema;
}

}  // namespace terroir::custom
