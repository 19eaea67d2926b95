#pragma once
// What: matrices of weights that a model keeps in whole numbers of 8 or 4 bits, and widens, to multiply them as they
//   are: MatMul(x, Reshape?(Multiply(Subtract?(Convert(numbers), zeros), scales))) -> CompressedMatMul.
// Why: products of few rows take the time that their weights take from memory, a quarter or an eighth of what the
//   floats would.
#include <set>

#include "ir/graph/graph.hpp"
#include "ir/pass/pass_manager.hpp"

namespace terroir::cpu {

class CpuOps;

/// Nodes that make such weights, for nobody else, which folding would replace by floats. None where data are quantised:
/// those layers compute in bytes. How many rows there are must not decide: an image has the same bits in any batch.
std::set<ir::NodeId> nodes_of_compressed_weights(const ir::Graph& graph);

/// Refuses: scales or zeros that are no constants yet, or differ within a group; other types of numbers; results that
/// others read; data or weights of other ranks.
ir::Pass compress_products(const CpuOps& ops);

}  // namespace terroir::cpu
