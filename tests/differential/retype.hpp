#pragma once
// What: a random model whose operation gets data of a type that its recipe never draws.
#include "tests/differential/model.hpp"

namespace terroir::test {

/// The model with other data for the operation "Type-N"; without a graph where the data are another layer's result,
/// where the operation has none, or where it does not take them.
RandomModel with_data_of(const RandomModel& model, const std::string& operation, element::Type type);

}  // namespace terroir::test
