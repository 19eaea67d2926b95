#pragma once
// What: how a reference whose result's size follows from the data gets memory of just that size. Who runs it has given
// room for the most there can be, and may lend memory of its own instead once the size is known: that of a tensor which
// the caller of the model will read, so that nothing is copied there.
//   const LentResults lend(give);      // the CPU plugin, around a reference
//   settle(ctx, 0, {found, 3});        // inside of it, before output 0 is written
// Threads: a loan holds for calls of the lending thread alone.
#include "ir/base/function_ref.hpp"
#include "ir/schema/op_schema.hpp"
#include "ops/reference/lent.hpp"

namespace terroir::ops::reference {

/// Gives output `index` these extents, for which it has room; its data may be elsewhere from then on.
void settle(const ir::EvalContext& ctx, size_t index, ir::Dims dims);

/// Memory for what will be `output` with its new extents; null: it stays where it is.
using LentResults = Lent<FunctionRef<void*(const ir::MutableTensorView& output)>>;

}  // namespace terroir::ops::reference
