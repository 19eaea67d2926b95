#include "tests/support/retyped.hpp"

#include <string>
#include <vector>

#include "ops/reference/type/convert.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {

using interpreter::HostTensor;

std::span<const element::Type> all_element_types() {
  static const element::Type types[] = {
      element::f64,    element::f16,    element::bf16,   element::f32,     element::f8e4m3,
      element::f8e5m2, element::f8e8m0, element::f4e2m1, element::nf4,     element::i4,
      element::i8,     element::i16,    element::i32,    element::i64,     element::u1,
      element::u2,     element::u3,     element::u4,     element::u6,      element::u8,
      element::u16,    element::u32,    element::u64,    element::boolean, element::string};
  return types;
}

HostTensor converted(const ir::TensorView& from, element::Type type) {
  HostTensor to(type, from.dims);
  if (from.type == element::string) {
    if (type != element::string) {
      const std::vector<uint8_t> zeros(static_cast<size_t>(from.count()));
      return converted({element::u8, from.dims, zeros.data()}, type);
    }
    for (int64_t i = 0; i < from.count(); ++i)
      static_cast<std::string*>(to.writable().data)[i] = static_cast<const std::string*>(from.data)[i];
    return to;
  }
  if (type != element::string) {
    ops::reference::convert(from, to.writable());
    return to;
  }
  for (int64_t i = 0; i < from.count(); ++i) static_cast<std::string*>(to.writable().data)[i] = element_text(from, i);
  return to;
}

std::unique_ptr<ir::Graph> retyped(const ir::Graph& graph, element::Type type,
                                   const std::function<bool(size_t input)>& is_data) {
  auto copy = graph.clone();
  const std::vector<ir::NodeId> nodes = copy->nodes();
  for (const ir::NodeId id : nodes) {
    const ir::Node& node = copy->node(id);
    if (!node.constant || !is_data(std::stoul(node.name.substr(2)))) continue;  // "in3"
    auto other = std::make_shared<HostTensor>(converted(node.constant->view, type));
    const ir::TensorView view = other->view();
    const ir::NodeId constant = copy->add_constant(*node.schema, node.name, {view, other});
    copy->replace_uses({id, 0}, {constant, 0});
    copy->erase(id);
  }
  return copy;
}

}  // namespace terroir::test
