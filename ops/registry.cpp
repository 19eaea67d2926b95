#include "ops/registry.hpp"

#include "ops/op_rows.hpp"

namespace terroir::ops {

void register_all(ir::OpRegistry& registry) {
  for (const OpRow& row : op_rows()) {
    ir::OpSchema schema = row.make();
    schema.opset = row.opset;
    schema.type = row.type;
    schema.infer = &infer_checked;
    registry.add(std::move(schema));
  }
}

const ir::OpRegistry& builtin_registry() {
  static const ir::OpRegistry registry = [] {
    ir::OpRegistry filled;
    register_all(filled);
    return filled;
  }();
  return registry;
}

const ir::OpSchema& newest(std::string_view type) {
  constexpr std::string_view kLast = "opset16";
  return builtin_registry().get(type, kLast);
}

}  // namespace terroir::ops
