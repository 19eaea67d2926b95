#include "tests/bench/zoo_convolutions.hpp"

#include <array>

namespace terroir::bench {
namespace {

using cpu::ConvAxis;
using cpu::ConvProblem;
using Dhw = std::array<int64_t, 3>;

std::string name_of(const ConvLayer& layer) {
  const ConvProblem& p = layer.problem;
  const auto axes = [&](auto get) {
    std::string s;
    if (p.d.in > 1) s += std::to_string(get(p.d)) + "x";
    return s + std::to_string(get(p.h)) + "x" + std::to_string(get(p.w));
  };
  std::string name = layer.model + "x" + std::to_string(layer.count) + (p.transposed ? "/deconv_" : "/") +
                     (p.groups > 1 ? "g" + std::to_string(p.groups) + "_" : "") + std::to_string(p.ic) + "to" +
                     std::to_string(p.oc) + "_" + axes([](const ConvAxis& a) { return a.in; }) + "_k" +
                     axes([](const ConvAxis& a) { return a.kernel; }) + "_s" + std::to_string(p.w.stride);
  if (p.w.dilation > 1) name += "_d" + std::to_string(p.w.dilation);
  return name;
}

ConvLayer layer(const char* model, int64_t count, bool transposed, int64_t groups, int64_t ic, int64_t oc, Dhw in,
                Dhw out, Dhw kernel, Dhw stride, Dhw pad, int64_t dilation = 1) {
  ConvProblem p;
  p.groups = groups;
  p.ic = ic;
  p.oc = oc;
  p.transposed = transposed;
  ConvAxis* const axes[] = {&p.d, &p.h, &p.w};
  for (size_t i = 0; i < 3; ++i) *axes[i] = {in[i], out[i], kernel[i], stride[i], kernel[i] > 1 ? dilation : 1, pad[i]};
  ConvLayer result{model, count, p, {}};
  result.name = name_of(result);
  return result;
}

std::vector<ConvLayer> all_layers() {
  std::vector<ConvLayer> layers = {
#define TERROIR_UNWRAP(...) __VA_ARGS__
#define LAYER(model, count, transposed, groups, ic, oc, in, out, kernel, stride, pad)              \
  layer(model, count, transposed, groups, ic, oc, Dhw{TERROIR_UNWRAP in}, Dhw{TERROIR_UNWRAP out}, \
        Dhw{TERROIR_UNWRAP kernel}, Dhw{TERROIR_UNWRAP stride}, Dhw{TERROIR_UNWRAP pad}),
#include "tests/bench/zoo_layers.inc"
  };
  const auto square = [&](int64_t groups, int64_t ic, int64_t oc, int64_t in, int64_t kernel, int64_t stride,
                          int64_t dilation = 1) {
    const int64_t pad = (kernel - 1) * dilation / 2, out = (in + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
    layers.push_back(layer("awkward", 1, false, groups, ic, oc, {1, in, in}, {1, out, out}, {1, kernel, kernel},
                           {1, stride, stride}, {0, pad, pad}, dilation));
  };
  square(1, 17, 30, 57, 3, 1);       // channels that fill no block
  square(1, 5, 3, 113, 5, 1);        // few of them
  square(1, 64, 64, 13, 3, 1);       // an odd, small image
  square(1, 128, 128, 33, 3, 1, 2);  // dilated, as of DeepLab
  square(1, 512, 512, 33, 3, 1, 4);
  square(1, 1024, 256, 33, 3, 1, 12);
  square(1, 1024, 256, 33, 3, 1, 18);
  square(1, 2048, 256, 33, 3, 1, 36);  // as of DeepLab for strides of 8, whose outer taps see pads only
  square(1, 1, 64, 128, 9, 1);         // one channel, a large window
  square(32, 96, 96, 56, 3, 1);        // three channels per group
  square(17, 17, 17, 61, 3, 1);        // depthwise, a ragged block
  square(8, 256, 8, 26, 1, 1);         // one output per group
  square(96, 96, 96, 28, 3, 1, 2);     // depthwise, dilated
  square(256, 256, 256, 33, 3, 3);     // depthwise, of a large stride
  square(34, 1360, 1360, 7, 3, 1);     // groups of two blocks and a half
  square(512, 512, 512, 14, 7, 1);     // depthwise, of a large window
  square(768, 768, 768, 7, 7, 1);      // likewise, larger than the image
  square(1, 512, 512, 7, 3, 1);        // weights of 9 MB for 49 positions
  square(8, 384, 96, 28, 1, 1);        // ragged groups, as of ShuffleNet
  square(4, 68, 272, 28, 1, 1);        // likewise
  layers.push_back(
      layer("awkward", 1, false, 1, 256, 256, {1, 1, 512}, {1, 1, 512}, {1, 1, 75}, {1, 1, 1}, {0, 0, 37}));
  layers.push_back(  // as wav2vec begins
      layer("awkward", 1, false, 1, 1, 512, {1, 1, 16000}, {1, 1, 3199}, {1, 1, 10}, {1, 1, 5}, {0, 0, 0}));
  layers.push_back(  // as I3D begins, at 112x112
      layer("awkward", 1, false, 1, 3, 64, {8, 112, 112}, {4, 56, 56}, {7, 7, 7}, {2, 2, 2}, {3, 3, 3}));
  layers.push_back(  // as the fast pathway of SlowFast begins, at 112x112
      layer("awkward", 1, false, 1, 3, 8, {8, 112, 112}, {8, 56, 56}, {5, 7, 7}, {1, 2, 2}, {2, 3, 3}));
  // As SSD ends: weights of 1 MB for nine positions.
  layers.push_back(layer("awkward", 1, false, 1, 128, 256, {1, 5, 5}, {1, 3, 3}, {1, 3, 3}, {1, 1, 1}, {0, 0, 0}));
  square(1, 64, 192, 27, 5, 1);   // as of AlexNet
  square(1, 128, 128, 46, 7, 1);  // as of OpenPose
  square(1, 185, 128, 46, 7, 1);
  // R(2+1)D in space.
  layers.push_back(layer("awkward", 1, false, 1, 64, 144, {8, 56, 56}, {8, 56, 56}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}));
  // Taps along one axis: ERFNet, Inception, text to speech, R(2+1)D along time.
  layers.push_back(layer("awkward", 1, false, 1, 128, 128, {1, 32, 64}, {1, 32, 64}, {1, 3, 1}, {1, 1, 1}, {0, 1, 0}));
  layers.push_back(layer("awkward", 1, false, 1, 192, 192, {1, 17, 17}, {1, 17, 17}, {1, 1, 7}, {1, 1, 1}, {0, 0, 3}));
  layers.push_back(layer("awkward", 1, false, 1, 256, 256, {1, 1, 600}, {1, 1, 600}, {1, 1, 9}, {1, 1, 1}, {0, 0, 4}));
  layers.push_back(  // as of Demucs
      layer("awkward", 1, false, 1, 256, 512, {1, 1, 1024}, {1, 1, 256}, {1, 1, 8}, {1, 1, 4}, {0, 0, 2}));
  layers.push_back(layer("awkward", 1, false, 1, 144, 64, {8, 56, 56}, {8, 56, 56}, {3, 1, 1}, {1, 1, 1}, {1, 0, 0}));
  layers.push_back(  // as of HiFi-GAN
      layer("awkward", 1, true, 1, 128, 64, {1, 1, 6400}, {1, 1, 12800}, {1, 1, 4}, {1, 1, 2}, {0, 0, 1}));
  layers.push_back(layer("awkward", 1, true, 1, 56, 1, {1, 64, 64}, {1, 190, 190}, {1, 9, 9}, {1, 3, 3}, {0, 4, 4}));
  layers.push_back(layer("awkward", 1, true, 1, 64, 3, {1, 32, 32}, {1, 64, 64}, {1, 4, 4}, {1, 2, 2}, {0, 1, 1}));
  layers.push_back(layer("awkward", 1, true, 1, 64, 64, {1, 28, 28}, {1, 56, 56}, {1, 4, 4}, {1, 2, 2}, {0, 1, 1}));
  return layers;
}

}  // namespace

ConvLayer awkward_conv_layer(const ConvProblem& problem) {
  ConvLayer result{"awkward", 1, problem, {}};
  result.name = name_of(result);
  return result;
}

const std::vector<ConvLayer>& conv_layers() {
  static const std::vector<ConvLayer> layers = all_layers();
  return layers;
}

}  // namespace terroir::bench
