#pragma once
// What: the layers that blocks are made of.
#include "tests/random_models/net.hpp"

namespace terroir::test {

struct ConvolutionShape {
  int64_t channels = 0;  // of the result; 0: drawn
  int64_t kernel = 0;    // along every axis; 0: drawn, also different ones
  int64_t stride = 0;    // 0: drawn
  int64_t groups = 0;    // 0: drawn
};

/// [N, C, spatial...] -> [N, O, spatial...]; keeps the spatial extents where kernel and stride are given and the stride
/// is 1. The layer alone, without bias.
Value convolution(Net& net, Value x, ConvolutionShape shape = {});
/// With what follows convolutions in networks: bias, normalisation, activation.
Value convolved(Net& net, Value x, ConvolutionShape shape = {});
Value transposed_convolution(Net& net, Value x);
/// Max or average; `same`: the spatial extents stay.
Value pooled(Net& net, Value x, bool same);
/// One number per image and channel, with or without axes of extent 1.
Value pooled_globally(Net& net, Value x, bool keep_axes);

/// Convolutions and poolings down to small images and back, each level joined with the one of the same extents.
Value u_net(Net& net, Value x);

/// Data and weights in few levels, as models that were quantised have them: a few convolutions, or a product of rows.
Value quantised(Net& net, Value x);
Value quantised_rows(Net& net, Value x);

/// Along the last axis, with or without bias.
Value linear(Net& net, Value x, int64_t columns);
/// Of every row along the last axis, as one operation or as its parts.
Value layer_norm(Net& net, Value x);

std::vector<int64_t> spatial_axes(const Net& net, Value x);
/// "2,2"
std::string repeated(int64_t value, int64_t times);

}  // namespace terroir::test
