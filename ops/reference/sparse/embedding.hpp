#pragma once
// What: the references of the sparse ops: sums (or means) of rows of a table, bag by bag, and filling of empty rows.
// Element types: numbers. Edge cases: every index is checked before it is used.
#include "ir/schema/op_schema.hpp"

namespace terroir::ops::reference {

enum class BagReduction { sum, mean };

/// Inputs: table, indices, offsets, and optionally the row for empty bags and weights. Bag i begins at offsets[i].
void embedding_bag_offsets(const ir::EvalContext& ctx, BagReduction reduction);
/// Inputs: table, indices [bags, n], and optionally weights [bags, n].
void embedding_bag_packed(const ir::EvalContext& ctx, BagReduction reduction);
/// Inputs: table, indices, bag of each index (ascending), number of bags, and optionally the row for empty bags,
/// weights.
void embedding_segments_sum(const ir::EvalContext& ctx);

/// Inputs: values [n], dense shape [2], indices [n, 2], default value. Outputs: indices, values, and which rows were
/// empty.
void sparse_fill_empty_rows(const ir::EvalContext& ctx);

}  // namespace terroir::ops::reference
