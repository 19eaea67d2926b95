#pragma once
// What: fills an OpRegistry with every row of ops/op_list.inc.
#include "ir/schema/registry.hpp"

namespace terroir::ops {

void register_all(ir::OpRegistry& registry);

/// One registry with every operation of op_list.inc, made on first use, never changed.
const ir::OpRegistry& builtin_registry();

/// The newest form of an operation of op_list.inc.
const ir::OpSchema& newest(std::string_view type);

}  // namespace terroir::ops
