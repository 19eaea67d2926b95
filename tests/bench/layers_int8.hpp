// What: the quantised layers of bench_layers.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "plugins/cpu/kernels/conv/conv_types.hpp"
#include "tests/bench/onednn.hpp"

namespace terroir::bench {

struct ByteLayer {
  std::string name;
  std::variant<cpu::ConvProblem, MatMulProblem> problem;
};

/// The distinct ones of the quantised zoo, then awkward ones.
std::vector<ByteLayer> byte_layers();

}  // namespace terroir::bench
