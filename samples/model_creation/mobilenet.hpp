// A MobileNet-v2 classifier for 1000 classes, built layer by layer.
//
// What: the topology of Sandler et al. 2018, "MobileNetV2: Inverted Residuals and Linear Bottlenecks", table 2, with
//       batch normalisation as separate layers as training leaves it, 3.5 million weights. The weights are
//       pseudo-random and always the same, scaled as He et al. 2015 so that signals neither vanish nor explode: it runs
//       as the trained network does, but what it answers means nothing.
// Input: "data", f32 [1,3,size,size], blue-green-red, 0..255. Output: "prob", f32 [1,1000].
#pragma once

#include <cstdint>
#include <memory>

#include <terroir/terroir.hpp>

/// `size`: height and width of the input, at least 32.
std::shared_ptr<terroir::Model> build_mobilenet(int64_t size);
