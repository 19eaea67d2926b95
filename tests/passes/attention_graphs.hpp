#pragma once
// What: attention written as single ops, in the forms that exporters write, for tests of its fusion.
#include <string>

#include "tests/passes/graph_maker.hpp"

namespace terroir::test {

struct Attention {
  int64_t heads = 1;
  bool divide = false;           // by sqrt(E), else a multiplication
  bool keys_transposed = false;  // before the product, else by its attribute
  std::optional<ir::Value> mask = std::nullopt;
  std::string also_result = {};  // an intermediate result that is read by a Result too
};

/// x [N, L, heads * E] attends to y [N, S, heads * E], which are their own projections: [N, L, heads, E].
ir::Value self_attention(GraphMaker& m, ir::Value x, ir::Value y, const Attention& form);

/// Every head of x [N, H, S, E] `times` times in a row: [N, H * times, S, E].
ir::Value repeated_heads(GraphMaker& m, ir::Value x, int64_t times);

}  // namespace terroir::test
