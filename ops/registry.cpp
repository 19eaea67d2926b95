#include "ops/registry.hpp"

namespace terroir::ops {

#define TERROIR_OP(opset, type, name) ir::OpSchema name();
#include "ops/op_list.inc"
#undef TERROIR_OP

namespace {
void add(ir::OpRegistry& registry, const char* opset, const char* type, ir::OpSchema schema) {
  schema.opset = opset;
  schema.type = type;
  registry.add(std::move(schema));
}
}  // namespace

void register_all(ir::OpRegistry& registry) {
#define TERROIR_OP(opset, type, name) add(registry, #opset, #type, name());
#include "ops/op_list.inc"
#undef TERROIR_OP
}

const ir::OpRegistry& builtin_registry() {
  static const ir::OpRegistry registry = [] {
    ir::OpRegistry filled;
    register_all(filled);
    return filled;
  }();
  return registry;
}

}  // namespace terroir::ops
