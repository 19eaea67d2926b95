// Attributes that no model should have. What Terroir refuses by the declared kinds never reaches the layer; what does,
// the layer has to refuse or to survive.
#include <limits>

#include "check_extension/trial.hpp"

namespace check {
namespace {

/// Values of an attribute's kind at the edges of what it can hold, and texts that are no such values.
std::vector<terroir::Any> nasty_values(const terroir_attribute& attribute) {
  const auto most = std::numeric_limits<int64_t>::max(), least = std::numeric_limits<int64_t>::min();
  const double infinite = std::numeric_limits<double>::infinity();
  switch (attribute.kind) {
    case TERROIR_ATTRIBUTE_BOOLEAN:
      return {std::string("maybe")};
    case TERROIR_ATTRIBUTE_INTEGER:
      return {int64_t{0}, int64_t{-1}, most, least, std::string("1.5"), std::string()};
    case TERROIR_ATTRIBUTE_REAL:
      return {0.0, -1.0, infinite, -infinite, std::numeric_limits<double>::quiet_NaN(), 1e308, std::string("x")};
    case TERROIR_ATTRIBUTE_INTEGERS:
      return {std::vector<int64_t>(), std::vector<int64_t>{0}, std::vector<int64_t>{-1, most, least},
              std::vector<int64_t>(1000, 1), std::string("1,,2")};
    case TERROIR_ATTRIBUTE_REALS:
      return {std::vector<double>(), std::vector<double>{0, infinite, -infinite}, std::vector<double>(1000, 1.0),
              std::string("1;2")};
    default:
      return {std::string(), std::string(10000, 'x'), std::string("%s%n"), std::string("\xff\xfe")};
  }
}

void run_with(terroir::Core& core, const terroir_layer& layer, const terroir::AnyMap& attributes, Findings& findings) {
  try {
    terroir::ModelBuilder builder(core);
    std::vector<terroir::Output<terroir::Node>> inputs;
    for (int32_t i = 0; i < layer.min_inputs; ++i)
      inputs.push_back(builder.parameter(input_types(layer).front(), terroir::PartialShape{2, 3, 4, 4}));
    builder.result(builder.op(layer.type, layer.opset != nullptr ? layer.opset : "extension", inputs, attributes));
    terroir::InferRequest request = core.compile_model(builder.build(), "CPU").create_infer_request();
    request.infer();
  } catch (const terroir::Exception&) {
    return;  // refused, in words
  } catch (const std::exception& error) {
    findings.add_fault(std::string("lets an error through that is not Terroir's: ") + error.what(),
                       check::text_of(attributes));
  }
}

}  // namespace

void run_malformed(terroir::Core& core, const terroir_layer& layer, uint64_t seed, Findings& findings) {
  Random random(seed);
  for (uint32_t i = 0; i < layer.attribute_count; ++i)
    for (const terroir::Any& value : nasty_values(layer.attributes[i])) {
      terroir::AnyMap attributes = some_attributes(layer, random);
      attributes[layer.attributes[i].name] = value;
      run_with(core, layer, attributes, findings);
    }
  terroir::AnyMap surplus = some_attributes(layer, random);
  surplus["no_such_attribute"] = int64_t{1};
  run_with(core, layer, surplus, findings);
}

}  // namespace check
