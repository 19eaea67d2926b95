#pragma once
// What: If, Loop and TensorIterator: which body runs how often on what; how a body runs is the device's affair.
// If: the then_body where the condition holds, else the else_body.
// TensorIterator: one iteration per part of its sliced inputs; one when nothing is sliced.
// Loop: while the condition holds and fewer iterations than the trip count have run (a negative count: no limit).
// Back edges carry a result of one iteration into a parameter of the next; concatenated outputs join what all
// iterations gave; others are those of the last iteration.
// Edge cases: no iteration at all: a carried output is its initial value, a concatenated one is empty, any other is an
//             Exception, as it has no value. Sliced inputs that disagree about the number of iterations: Exception.
// Source: If-8, Loop-5, TensorIterator-1.
#include <span>
#include <vector>

#include "ir/base/function_ref.hpp"
#include "ir/graph/graph.hpp"

namespace terroir::ops::reference {

/// One input per Parameter of node.bodies[body] -> one value per Result. Empty: stop, nobody wants the outputs any
/// more.
using BodyRunner = FunctionRef<std::vector<ir::Constant>(size_t body, std::span<const ir::TensorView> inputs)>;

/// One value per output of the node; none if the runner stopped.
std::vector<ir::Constant> run_bodies(const ir::Node& node, std::span<const ir::TensorView> inputs, BodyRunner run_body);

}  // namespace terroir::ops::reference
