#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "tests/bench/layers_narrow.hpp"
#include "tests/bench/zoo_convolutions.hpp"

namespace terroir::bench {
namespace {

using cpu::ConvAxis;
using cpu::ConvProblem;

ConvAxis axis(int64_t in, int64_t kernel, int64_t stride, int64_t dilation = 1) {
  const int64_t reach = (kernel - 1) * dilation, pad = reach / 2;
  return {in, (in + 2 * pad - reach - 1) / stride + 1, kernel, stride, kernel > 1 ? dilation : 1, pad};
}

constexpr ConvAxis kFlat = {1, 1, 1, 1, 1, 0};

struct Channels {
  int64_t groups, in, out;
};

class ConvolutionList {
 public:
  void square(Channels channels, int64_t in, int64_t kernel, int64_t stride, int64_t dilation = 1) {
    const ConvAxis each = axis(in, kernel, stride, dilation);
    add(channels, {kFlat, each, each});
  }
  void add(Channels channels, const std::array<ConvAxis, 3>& axes) {
    ConvProblem p;
    p.groups = channels.groups;
    p.ic = channels.in;
    p.oc = channels.out;
    p.d = axes[0];
    p.h = axes[1];
    p.w = axes[2];
    add(p);
  }
  void add(const ConvProblem& p) {
    const ConvLayer layer = awkward_conv_layer(p);
    layers.push_back({layer.name, layer.problem});
  }
  std::vector<NarrowLayer> layers;
};

void add_few_channels(ConvolutionList& list) {
  // Channels that fill no block of 16, of which a product takes four at a time, or no tile of 64.
  list.square({1, 3, 17}, 15, 3, 1);
  list.square({1, 5, 30}, 57, 3, 1);
  list.square({1, 5, 3}, 113, 5, 1);
  list.square({1, 17, 30}, 57, 3, 1);
  list.square({1, 24, 40}, 28, 1, 1);
  list.square({1, 30, 48}, 28, 3, 2);
  list.square({1, 40, 80}, 14, 3, 1);
  list.square({1, 48, 96}, 28, 1, 1);
  list.square({1, 80, 80}, 14, 3, 1);
  list.square({1, 80, 200}, 13, 1, 1);
  list.square({1, 96, 96}, 15, 3, 1);
  list.square({1, 144, 144}, 14, 3, 1);
  list.square({1, 144, 24}, 7, 1, 1);
  list.square({1, 200, 200}, 7, 3, 1);
  list.square({1, 200, 48}, 14, 1, 1);
  list.square({1, 3, 64}, 224, 11, 4);  // as AlexNet begins
  list.square({1, 3, 16}, 416, 3, 1);   // as small YOLOs begin
  list.square({1, 12, 32}, 160, 3, 1);  // as YOLOv5 once did
}

void add_images(ConvolutionList& list) {
  for (const int64_t in : {7, 13, 14, 15}) {
    list.square({1, 64, 64}, in, 3, 1);
    list.square({1, 128, 128}, in, 1, 1);
    list.square({1, 128, 256}, in, 3, 2);
  }
  list.square({1, 256, 256}, 13, 3, 1);
  list.square({1, 64, 128}, 56, 1, 2);
  list.square({1, 128, 128}, 56, 3, 3);
  list.square({1, 64, 64}, 35, 5, 1);  // as of Inception
  list.square({1, 64, 64}, 35, 5, 2);
  list.square({1, 32, 32}, 28, 7, 1);
  list.square({1, 64, 64}, 28, 2, 2);
  list.square({1, 128, 128}, 33, 3, 1, 2);  // dilated, as of DeepLab
  list.square({1, 256, 256}, 33, 3, 1, 4);
  list.square({1, 512, 256}, 33, 3, 1, 12);
  list.square({1, 80, 80}, 15, 3, 1, 2);
  list.square({1, 64, 255}, 26, 1, 1);  // as YOLOs end
  list.square({1, 64, 1}, 56, 1, 1);
}

void add_axes(ConvolutionList& list) {
  list.add({1, 256, 256}, {kFlat, kFlat, axis(600, 9, 1)});  // along time
  list.add({1, 256, 512}, {kFlat, kFlat, axis(1024, 8, 4)});
  list.add({1, 80, 384}, {kFlat, kFlat, axis(300, 3, 1)});  // as Whisper begins
  list.add({1, 384, 384}, {kFlat, kFlat, axis(300, 3, 2)});
  list.add({256, 256, 256}, {kFlat, kFlat, axis(600, 33, 1)});  // as of QuartzNet
  list.add({1, 192, 192}, {kFlat, axis(17, 1, 1), axis(17, 7, 1)});
  list.add({1, 192, 192}, {kFlat, axis(17, 7, 1), axis(17, 1, 1)});
  list.add({1, 3, 64}, {axis(8, 7, 2), axis(112, 7, 2), axis(112, 7, 2)});  // as I3D begins
  list.add({1, 64, 64}, {axis(8, 3, 1), axis(28, 3, 1), axis(28, 3, 1)});
  list.add({1, 144, 64}, {axis(8, 3, 1), axis(28, 1, 1), axis(28, 1, 1)});
  list.add({1, 64, 128}, {axis(8, 3, 2), axis(28, 3, 2), axis(28, 3, 2)});
  list.add({1, 128, 256}, {axis(4, 1, 1), axis(14, 1, 1), axis(14, 1, 1)});
}

void add_groups(ConvolutionList& list) {
  list.square({32, 512, 512}, 14, 3, 1);
  list.square({32, 1024, 1024}, 14, 3, 2);
  list.square({32, 96, 96}, 56, 3, 1);  // three channels to a group
  list.square({4, 128, 256}, 28, 3, 1);
  list.square({2, 192, 384}, 13, 3, 1);  // as of AlexNet
  list.square({3, 144, 144}, 14, 1, 1);
  list.square({8, 384, 96}, 28, 1, 1);  // ragged groups, as of ShuffleNet
  for (const int64_t kernel : {3, 5, 7})
    for (const int64_t stride : {1, 2}) {
      list.square({144, 144, 144}, 56, kernel, stride);
      list.square({240, 240, 240}, 14, kernel, stride);
    }
  for (const int64_t channels : {17, 24, 30, 40, 200}) list.square({channels, channels, channels}, 15, 3, 1);
  list.square({96, 96, 96}, 28, 3, 1, 2);  // dilated
  list.square({960, 960, 960}, 7, 5, 1);
  list.square({384, 384, 384}, 14, 7, 1);  // as of ConvNeXt
  list.square({768, 768, 768}, 7, 7, 1);   // larger than the image
  list.square({64, 64, 128}, 28, 3, 1);    // two outputs to a channel
}

void add_transposed(ConvolutionList& list) {
  const auto add = [&list](int64_t in, int64_t out, int64_t extent, int64_t kernel, int64_t stride, int64_t pad) {
    ConvProblem p;
    p.transposed = true;
    p.ic = in;
    p.oc = out;
    p.h = p.w = {extent, (extent - 1) * stride + kernel - 2 * pad, kernel, stride, 1, pad};
    list.add(p);
  };
  add(512, 256, 16, 2, 2, 0);  // as of U-Net
  add(64, 32, 128, 2, 2, 0);
  add(256, 256, 14, 2, 2, 0);  // as Mask R-CNN ends
  add(256, 128, 16, 4, 2, 1);  // as generators have them
  add(64, 3, 64, 4, 2, 1);
  add(96, 40, 15, 3, 2, 1);
  add(64, 64, 28, 3, 1, 1);
}

/// Rows, outputs, inputs.
void add_matmul(std::vector<NarrowLayer>& layers, const std::string& model, int64_t m, int64_t n, int64_t k) {
  layers.push_back({model + "/matmul_" + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k),
                    MatMulProblem{1, m, n, k, true, true}});
}

}  // namespace

std::vector<NarrowLayer> narrow_layers() {
  constexpr std::string_view kQuantised[] = {"resnet50", "resnext50", "mobilenet_v2", "squeezenet"};
  ConvolutionList list;
  for (const ConvLayer& layer : conv_layers())
    if (std::ranges::find(kQuantised, layer.model) != std::end(kQuantised))
      list.layers.push_back({layer.name, layer.problem});
  add_few_channels(list);
  add_transposed(list);
  add_images(list);
  add_axes(list);
  add_groups(list);
  std::vector<NarrowLayer>& layers = list.layers;
  add_matmul(layers, "bert_base", 128, 768, 768);
  add_matmul(layers, "bert_base", 128, 3072, 768);
  add_matmul(layers, "bert_base", 128, 768, 3072);
  add_matmul(layers, "resnet50", 1, 1000, 2048);
  add_matmul(layers, "mobilenet_v2", 1, 1000, 1280);
  for (const int64_t m : {1, 7, 49, 128}) {
    add_matmul(layers, "awkward", m, 256, 64);
    add_matmul(layers, "awkward", m, 96, 96);
    add_matmul(layers, "awkward", m, 200, 200);
    add_matmul(layers, "awkward", m, 1000, 500);
    add_matmul(layers, "awkward", m, 512, 512);
    if (m < 128) add_matmul(layers, "awkward", m, 768, 768);
    if (m < 128) add_matmul(layers, "awkward", m, 3072, 768);
    if (m < 128) add_matmul(layers, "awkward", m, 768, 3072);
  }
  add_matmul(layers, "awkward", 37, 52, 333);  // inputs that are no whole words
  return std::move(layers);
}

}  // namespace terroir::bench
