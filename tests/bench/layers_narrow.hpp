// What: the layers of bench_layers whose products are of narrow types.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "plugins/cpu/kernels/conv/conv_types.hpp"
#include "tests/bench/onednn.hpp"

namespace terroir::bench {

struct NarrowLayer {
  std::string name;
  std::variant<cpu::ConvProblem, MatMulProblem> problem;
};

/// The distinct ones of the quantised zoo, then awkward ones.
std::vector<NarrowLayer> narrow_layers();

}  // namespace terroir::bench
