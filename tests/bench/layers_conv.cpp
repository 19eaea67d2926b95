#include <algorithm>
#include <string>

#include "plugins/cpu/kernels/conv/conv.hpp"
#include "tests/bench/layers.hpp"
#include "tests/bench/zoo_convolutions.hpp"
#include "tests/support/scoped_variable.hpp"

namespace terroir::bench {
namespace {

using cpu::ConvAxis;
using cpu::ConvProblem;

/// One entry per spatial axis, as IR files write it. Layers without depth have two axes.
template <class Get>
std::string list(const ConvProblem& p, Get get) {
  std::string text = std::to_string(get(p.h)) + "," + std::to_string(get(p.w));
  return p.d.in > 1 ? std::to_string(get(p.d)) + "," + text : text;
}

template <class Get>
ir::Dims dims(const ConvProblem& p, ir::Dims head, Get get) {
  if (p.d.in > 1) head.push_back(get(p.d));
  head.push_back(get(p.h));
  head.push_back(get(p.w));
  return head;
}

}  // namespace

ConvolutionOp convolution_op(const ConvProblem& p) {
  const auto pad_end = [&](const ConvAxis& a) {
    const int64_t reach = (a.kernel - 1) * a.dilation + 1;
    const int64_t pad =
        p.transposed ? (a.in - 1) * a.stride + reach - a.pad - a.out : (a.out - 1) * a.stride + reach - a.in - a.pad;
    return std::max<int64_t>(pad, 0);  // below zero: source elements that no window reaches
  };
  const std::string type =
      std::string(p.groups > 1 ? "Group" : "") + "Convolution" + (p.transposed ? "BackpropData" : "");
  const int64_t icg = p.ic / p.groups, ocg = p.oc / p.groups;
  ir::Dims head = p.transposed ? ir::Dims{icg, ocg} : ir::Dims{ocg, icg};
  if (p.groups > 1) head.insert(head.begin(), p.groups);
  return {type,
          {{"strides", list(p, [](const ConvAxis& a) { return a.stride; })},
           {"dilations", list(p, [](const ConvAxis& a) { return a.dilation; })},
           {"pads_begin", list(p, [](const ConvAxis& a) { return a.pad; })},
           {"pads_end", list(p, pad_end)}},
          dims(p, {p.batch, p.ic}, [](const ConvAxis& a) { return a.in; }),
          dims(p, head, [](const ConvAxis& a) { return a.kernel; })};
}

void register_convolutions(int threads) {
  for (const ConvLayer& layer : conv_layers())
    for (const std::string& name : float_isa_names())
      benchmark::RegisterBenchmark((layer.name + "/" + name).c_str(),
                                   [&layer, name, threads](benchmark::State& state) {
                                     const test::ForcedIsa forced(name.c_str());
                                     const cpu::Isa isa = cpu::active_isa();
                                     const ConvProblem& p = layer.problem;
                                     const ConvolutionOp op = convolution_op(p);
                                     OneLayer one(op.type.c_str(), op.attributes,
                                                  {{op.data, false}, {op.weights, true}}, isa, threads, "opset16",
                                                  OneLayer::place_of(p.ic, p.oc));
                                     measure(state, one, static_cast<double>(cpu::conv_flops(p)), isa, threads,
                                             onednn_convolution(p, threads).get());
                                   })
          ->UseManualTime()
          ->MinTime(0.03);
}

}  // namespace terroir::bench
