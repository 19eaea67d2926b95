#pragma once
// What: conditions of If and Loop, as inputs and as constants.
#include "ir/schema/infrastructure.hpp"
#include "ops/registry.hpp"
#include "tests/passes/graph_maker.hpp"

namespace terroir::test {

inline HostTensor truth(bool value) {
  HostTensor tensor(element::boolean, {});
  *tensor.writable().as<uint8_t>() = value ? 1 : 0;
  return tensor;
}

inline ir::Value constant_condition(GraphMaker& m, bool value = true) {
  static const uint8_t kValues[] = {0, 1};
  const ir::OpSchema& schema = ops::builtin_registry().get(ir::kConstType, "opset1");
  return {m.graph().add_constant(schema, "condition", {{element::boolean, {}, &kValues[value ? 1 : 0]}, nullptr}), 0};
}

}  // namespace terroir::test
