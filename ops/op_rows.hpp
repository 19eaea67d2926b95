#pragma once
// What: ops/op_list.inc as a table.
#include <string_view>
#include <vector>

#include "ops/data_types.hpp"

namespace terroir::ops {

struct OpRow {
  std::string_view type, opset;
  ir::OpSchema (*make)();
  ir::InferFn infer;  // of what `make` gives
  DataTypes data_types;
  bool sizes_itself;
};

/// Sorted by type and set.
const std::vector<OpRow>& op_rows();

/// Null: an operation of a library, or made by a device.
const OpRow* find_row(const ir::OpSchema& schema);

}  // namespace terroir::ops
