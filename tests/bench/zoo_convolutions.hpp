// What: the distinct convolutions of the zoo topologies (zoo_layers.inc) and a few awkward ones, as problems with
// names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plugins/cpu/kernels/conv/conv_types.hpp"

namespace terroir::bench {

struct ConvLayer {
  std::string model;  // the first topology that has it
  int64_t count;      // times it occurs there
  cpu::ConvProblem problem;
  std::string name;  // resnet50x3/64to64_56x56_k3x3_s1
};

const std::vector<ConvLayer>& conv_layers();

/// With its name.
ConvLayer awkward_conv_layer(const cpu::ConvProblem& problem);

}  // namespace terroir::bench
