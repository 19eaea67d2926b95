#include "ops/data_types.hpp"

#include "ops/op_rows.hpp"

namespace terroir::ops {
namespace {

void check(const ir::InferContext& ctx, const DataTypes& types, element::Type type, const char* side, int index) {
  // Tested before require(), whose arguments cost more than all else in a node's inference.
  if (type.is_dynamic() || types.allowed.contains(type)) return;
  ctx.fail("the type ", type.get_type_name(), " of ", side, " ", index, " is not supported by ",
           ctx.schema().display_name(), "; allowed are ", types.allowed.names());
}

}  // namespace

bool DataTypes::has(size_t input) const {
  const std::string_view letters = inputs.substr(0, inputs.size() - (names_output() ? 1 : 0));
  if (letters.ends_with('*') && input + 2 >= letters.size()) return letters[letters.size() - 2] == 'T';
  return input < letters.size() && letters[input] == 'T';
}

const DataTypes& data_types(const ir::OpSchema& schema) {
  static constexpr DataTypes of_libraries{"", ir::types::kAny, Narrow::moved}, of_devices{};
  if (const OpRow* row = find_row(schema)) return row->data_types;
  return schema.from_extension ? of_libraries : of_devices;
}

void infer_checked(ir::InferContext& ctx) {
  const OpRow* found = find_row(ctx.schema());
  TERROIR_ASSERT(found, ctx.schema().display_name());
  const OpRow& row = *found;
  for (int i = 0; i < ctx.input_count(); ++i)
    if (row.data_types.has(static_cast<size_t>(i))) check(ctx, row.data_types, ctx.type(i), "input", i);
  row.infer(ctx);
  if (row.data_types.names_output()) check(ctx, row.data_types, ctx.outputs().front().type, "output", 0);
}

}  // namespace terroir::ops
