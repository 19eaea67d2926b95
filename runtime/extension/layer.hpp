#pragma once
// What: a layer of somebody else's library as this one sees it: its descriptor, checked, and where it came from; its
// attributes; and the ordinary OpSchema it becomes, so that the reader, shape inference and the devices need no special
// case.
// Memory: layers and their schemas live as long as the process, like the libraries: any model may point to them.
// Source: runtime/include/terroir/extension_abi.h
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/graph/graph.hpp"
#include "ir/schema/op_schema.hpp"
#include "terroir/extension_abi.h"

namespace terroir::custom {

using AttributeValue = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

/// What the library wrote in its terroir_layer, after check_layer().
struct Layer {
  terroir_layer descriptor;
  std::string source;  // "mish.so", for people
  std::string file;    // the library or program that has its functions; empty: none has
  struct Attribute {
    std::string name;
    bool required;
    AttributeValue initial;            // the default; of required ones: any value of the kind
    std::vector<std::string> allowed;  // empty: any
  };
  std::vector<Attribute> attributes;
  /// The form of a layer with states that has them as inputs and outputs, see states.hpp; null: it keeps nothing.
  std::shared_ptr<const ir::OpSchema> with_states;
};

}  // namespace terroir::custom

/// What the boundary calls attributes: values in the order of Layer::attributes.
struct terroir_attributes {
  std::vector<terroir::custom::AttributeValue> values;
};

namespace terroir::custom {

/// The attribute struct of all such layers.
struct LayerAttrs {
  const Layer* layer = nullptr;
  terroir_attributes attributes;
  bool has_states = false;  // as inputs and outputs of the node, behind the others

  int32_t states() const { return has_states ? layer->descriptor.states : 0; }

  template <class V>
  void visit(V& v) {
    for (size_t i = 0; i < attributes.values.size(); ++i) {
      const Layer::Attribute& attribute = layer->attributes[i];
      const auto presence = attribute.required ? ir::Presence::required : ir::Presence::optional;
      std::visit([&](auto& value) { v(attribute.name.c_str(), value, presence); }, attributes.values[i]);
    }
  }
};

/// The attributes of a node whose op came from a library; null for other nodes.
const LayerAttrs* layer_attributes(const ir::Attributes& attributes);

/// Of an op from a library: Exception (general) unless the extents that it says it used of an output are among those
/// that were inferred.
void check_used_extents(const ir::Node& node, size_t output, const PartialShape& inferred, const ir::Dims& used);

/// Checks the descriptor and takes down what it says. Exception (invalid_argument; unsupported for another version)
/// that names `source` and the layer.
Layer checked_layer(const terroir_layer* descriptor, const std::string& source, const std::string& file);

enum class States { kept, ports };
/// `layer` must outlive the schema and every model that uses it. States::ports: the form of Layer::with_states.
ir::OpSchema make_schema(const Layer& layer, States states = States::kept);

}  // namespace terroir::custom
