// How much a model computes.
#pragma once

#include <terroir/terroir.hpp>

namespace benchmark_app {

/// Floating-point operations of one inference: two per multiplication of convolutions, matrix products and recurrent
/// layers, as the plain algorithms need them; nothing for other layers and for the bodies of If, Loop and
/// TensorIterator. 0 where shapes are not known.
double count_flops(const terroir::Model& model);

}  // namespace benchmark_app
