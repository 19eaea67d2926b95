#include "ir/base/error.hpp"
#include "runtime/api/attributes_from_any.hpp"
#include "runtime/api/draft.hpp"
#include "runtime/extension/library.hpp"
#include "terroir/op/op.hpp"

namespace terroir::detail {
namespace {

constexpr std::string_view kNameless = "Op";

/// Of layers whose class has not said yet what they are: the constructor of op::Op cannot ask it.
const ir::OpSchema& nameless() {
  static const ir::OpSchema schema = [] {
    ir::OpSchema made;
    made.type = kNameless;
    made.opset = "extension";
    made.arity = {0, ir::kVariadic, ir::kVariadic};
    made.infer = [](ir::InferContext&) {
      throw_error(ErrorCode::invalid_argument,
                  "the constructor of its class does not call constructor_validate_and_infer_types()");
    };
    return made;
  }();
  return schema;
}

ir::Node& writable_node(const Node& layer) { return NodeAccess::state(layer)->writable().node(NodeAccess::id(layer)); }

}  // namespace

NodeHandle make_custom_layer(const OutputVector& inputs) { return make_open_layer(nameless(), inputs); }

void name_custom_layer(const Node& layer, const terroir_extension* description, const AnyMap& attributes) {
  const ir::OpSchema& schema = *custom::adopt_extension(description).operations.front();
  std::unique_ptr<ir::Attributes> values =
      with_context([&] { return schema.type; }, [&] { return make_attributes(schema, attributes); });
  ir::Node& node = writable_node(layer);
  if (node.schema == &nameless()) node.name.replace(0, kNameless.size(), schema.type);
  node.schema = &schema;
  node.attributes = std::move(values);
}

void set_custom_outputs(const Node& layer, size_t count) { writable_node(layer).outputs.resize(count); }

void set_custom_output(const Node& layer, size_t index, const element::Type& type, const PartialShape& shape) {
  ir::Node& node = writable_node(layer);
  if (node.outputs.size() <= index) node.outputs.resize(index + 1);
  node.outputs[index].type = type;
  node.outputs[index].shape = shape;
}

}  // namespace terroir::detail
