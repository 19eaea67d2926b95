#include "tests/bench/onednn.hpp"

#include <chrono>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tests/bench/one_layer.hpp"

#if TERROIR_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.hpp>

// The peer's threads come from OpenMP, whose runtime it brings along; without it there is nothing to set.
extern "C" __attribute__((weak)) void omp_set_num_threads(int threads);
#endif

namespace terroir::bench {

#if TERROIR_HAVE_ONEDNN
namespace {

using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

struct Peer {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

Peer& peer(int threads) {
  static Peer peer;
  if (omp_set_num_threads) omp_set_num_threads(threads);
  return peer;
}

memory filled(const memory::desc& desc, const dnnl::engine& engine) {
  memory result(desc, engine);
  if (desc.data_type() != memory::data_type::f32) {
    auto* bytes = static_cast<uint8_t*>(result.get_data_handle());
    for (size_t i = 0; i < desc.get_size(); ++i) bytes[i] = static_cast<uint8_t>(i * 37 % 251);
    return result;
  }
  auto* data = static_cast<float*>(result.get_data_handle());
  for (size_t i = 0; i < desc.get_size() / sizeof(float); ++i) data[i] = static_cast<float>(i % 17) * 0.0625f - 0.5f;
  return result;
}

memory::desc any(const memory::dims& dims, memory::data_type type = memory::data_type::f32) {
  return {dims, type, memory::format_tag::any};
}

struct Step {
  dnnl::primitive primitive;
  Arguments arguments;
};

class Primitive final : public PeerLayer {
 public:
  /// `before` and `behind`: run around it, not timed.
  Primitive(Peer& peer, Step step, std::string implementation, std::vector<Step> before = {},
            std::vector<Step> behind = {})
      : peer_(peer),
        step_(std::move(step)),
        implementation_(std::move(implementation)),
        before_(std::move(before)),
        behind_(std::move(behind)) {}

  double run() override {
    execute(before_);
    const auto start = std::chrono::steady_clock::now();
    step_.primitive.execute(peer_.stream, step_.arguments);
    peer_.stream.wait();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    execute(behind_);
    return seconds;
  }
  std::string implementation() const override { return implementation_; }

 private:
  void execute(const std::vector<Step>& steps) {
    for (const Step& step : steps) step.primitive.execute(peer_.stream, step.arguments);
    peer_.stream.wait();
  }

  Peer& peer_;
  Step step_;
  std::string implementation_;
  std::vector<Step> before_, behind_;
};

/// With bias.
dnnl::convolution_forward::primitive_desc convolution(const Peer& peer, const memory::desc& src,
                                                      const memory::dims& weights, const memory::desc& dst,
                                                      const memory::dims& strides, const memory::dims& dilations,
                                                      const memory::dims& left, const memory::dims& right) {
  const memory::desc bias({dst.dims()[1]}, memory::data_type::f32, memory::format_tag::a);
  return {{dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src, any(weights), bias, dst,
           strides, dilations, left, right},
          peer.engine};
}

/// From `src`'s channels to `dst`'s, 1x1.
dnnl::convolution_forward::primitive_desc pointwise(const Peer& peer, const memory::desc& src,
                                                    const memory::desc& dst) {
  const size_t axes = src.dims().size() - 2;
  memory::dims weights(axes + 2, 1);
  weights[0] = dst.dims()[1];
  weights[1] = src.dims()[1];
  const memory::dims ones(axes, 1), zeros(axes, 0);
  return convolution(peer, src, weights, dst, ones, zeros, zeros, zeros);
}

template <class Description>
Step make_step(const Peer& peer, const Description& description, const memory& src, const memory& dst) {
  return {dnnl::primitive(description),
          {{DNNL_ARG_SRC, src},
           {DNNL_ARG_WEIGHTS, filled(description.weights_desc(), peer.engine)},
           {DNNL_ARG_BIAS, filled(description.bias_desc(), peer.engine)},
           {DNNL_ARG_DST, dst}}};
}

memory::desc with_channels(const memory::desc& desc, int64_t channels) {
  memory::dims dims = desc.dims();
  dims[1] = channels;
  return any(dims);
}

/// Between the layers that OneLayer has around it, so that sources and results lie where a network has them. What a
/// model returns may have any layout here: the peer is spared what making it plain takes.
template <class Description>
std::unique_ptr<PeerLayer> make_convolution(Peer& peer, const Description& description) {
  const memory src = filled(description.src_desc(), peer.engine), dst = filled(description.dst_desc(), peer.engine);
  std::vector<Step> before, behind;
  const OneLayer::Place place = OneLayer::place_of(src.get_desc().dims()[1], dst.get_desc().dims()[1]);
  if (place.before) {
    const auto first = pointwise(peer, with_channels(src.get_desc(), OneLayer::kChannelsBefore), src.get_desc());
    before.push_back(make_step(peer, first, filled(first.src_desc(), peer.engine), src));
  }
  if (place.behind) {
    const auto last = pointwise(peer, dst.get_desc(), with_channels(dst.get_desc(), OneLayer::kChannelsBehind));
    behind.push_back(make_step(peer, last, dst, filled(last.dst_desc(), peer.engine)));
  }
  return std::make_unique<Primitive>(peer, make_step(peer, description, src, dst), description.impl_info_str(),
                                     std::move(before), std::move(behind));
}

struct ConvolutionDims {
  memory::dims src, weights, dst, strides, dilations, left, right;
};

ConvolutionDims dims_of(const cpu::ConvProblem& p) {
  using cpu::ConvAxis;
  const bool deep = p.d.in > 1 || p.d.kernel > 1;
  const auto dims = [&](memory::dims head, auto get) {
    if (deep) head.push_back(get(p.d));
    head.push_back(get(p.h));
    head.push_back(get(p.w));
    return head;
  };
  const auto kernel = [](const ConvAxis& a) { return a.kernel; };
  // A grouped transposed convolution is described like a grouped one: [groups, out, in, kernel].
  const auto weights =
      p.groups > 1 ? dims({p.groups, p.oc / p.groups, p.ic / p.groups}, kernel) : dims({p.oc, p.ic}, kernel);
  const auto right = [&](const ConvAxis& a) {
    const int64_t reach = (a.kernel - 1) * a.dilation + 1;
    return p.transposed ? (a.in - 1) * a.stride + reach - a.pad - a.out : (a.out - 1) * a.stride + reach - a.in - a.pad;
  };
  return {dims({p.batch, p.ic}, [](const ConvAxis& a) { return a.in; }),
          weights,
          dims({p.batch, p.oc}, [](const ConvAxis& a) { return a.out; }),
          dims({}, [](const ConvAxis& a) { return a.stride; }),
          dims({}, [](const ConvAxis& a) { return a.dilation - 1; }),
          dims({}, [](const ConvAxis& a) { return a.pad; }),
          dims({}, right)};
}

memory::data_type stored(bool bytes) { return bytes ? memory::data_type::u8 : memory::data_type::f32; }

/// A scale of each output, which are along `axis`.
dnnl::primitive_attr with_scales(int64_t outputs, int axis) {
  std::vector<float> scales;
  for (int64_t i = 0; i < outputs; ++i) scales.push_back(static_cast<float>(1 + i % 5) / 4096);
  dnnl::primitive_attr attributes;
  attributes.set_output_scales(1 << axis, scales);
  return attributes;
}

memory plain_floats(const memory::desc& desc, const dnnl::engine& engine) {
  const memory::dims dims = desc.dims();
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return filled({dims, memory::data_type::f32, strides}, engine);
}

Step reorder(const memory& from, const memory& to) {
  return {dnnl::reorder(from, to), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}};
}

template <class Description>
std::unique_ptr<PeerLayer> make_byte_layer(Peer& peer, const Description& description) {
  const memory src = filled(description.src_desc(), peer.engine), dst = filled(description.dst_desc(), peer.engine);
  return std::make_unique<Primitive>(peer, make_step(peer, description, src, dst), description.impl_info_str(),
                                     std::vector{reorder(plain_floats(src.get_desc(), peer.engine), src)},
                                     std::vector{reorder(dst, plain_floats(dst.get_desc(), peer.engine))});
}

}  // namespace

std::unique_ptr<PeerLayer> onednn_convolution(const cpu::ConvProblem& p, int threads) {
  Peer& one = peer(threads);
  const auto [src, weights, dst, strides, dilations, left, right] = dims_of(p);
  if (!p.transposed)
    return make_convolution(one, convolution(one, any(src), weights, any(dst), strides, dilations, left, right));
  const memory::desc bias({p.oc}, memory::data_type::f32, memory::format_tag::a);
  const dnnl::deconvolution_forward::desc desc(dnnl::prop_kind::forward_inference,
                                               dnnl::algorithm::deconvolution_direct, any(src), any(weights), bias,
                                               any(dst), strides, dilations, left, right);
  return make_convolution(one, dnnl::deconvolution_forward::primitive_desc(desc, one.engine));
}

std::unique_ptr<PeerLayer> onednn_matmul(const MatMulProblem& p, int threads) {
  Peer& one = peer(threads);
  using Tag = memory::format_tag;
  const auto plain = [](const memory::dims& dims) { return memory::desc(dims, memory::data_type::f32, Tag::abc); };
  const memory::dims extents{p.batch, p.k, p.n};
  const memory::desc b = p.constant_b     ? any(extents)
                         : p.transposed_b ? memory::desc(extents, memory::data_type::f32, Tag::acb)
                                          : plain(extents);
  const dnnl::matmul::desc desc(plain({p.batch, p.m, p.k}), b, plain({p.batch, p.m, p.n}));
  const dnnl::matmul::primitive_desc description(desc, one.engine);
  Arguments arguments = {{DNNL_ARG_SRC, filled(description.src_desc(), one.engine)},
                         {DNNL_ARG_WEIGHTS, filled(description.weights_desc(), one.engine)},
                         {DNNL_ARG_DST, filled(description.dst_desc(), one.engine)}};
  return std::make_unique<Primitive>(one, Step{dnnl::matmul(description), std::move(arguments)},
                                     description.impl_info_str());
}

std::unique_ptr<PeerLayer> onednn_byte_convolution(const cpu::ConvProblem& p, bool stores_bytes, int threads) {
  Peer& one = peer(threads);
  const ConvolutionDims dims = dims_of(p);
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, any(dims.src, memory::data_type::u8),
      any(dims.weights, memory::data_type::s8), {{p.oc}, memory::data_type::f32, memory::format_tag::a},
      any(dims.dst, stored(stores_bytes)), dims.strides, dims.dilations, dims.left, dims.right);
  return make_byte_layer(one, dnnl::convolution_forward::primitive_desc(desc, with_scales(p.oc, 1), one.engine));
}

std::unique_ptr<PeerLayer> onednn_byte_matmul(const MatMulProblem& p, bool stores_bytes, int threads) {
  Peer& one = peer(threads);
  const dnnl::matmul::desc desc(any({p.m, p.k}, memory::data_type::u8), any({p.k, p.n}, memory::data_type::s8),
                                {{1, p.n}, memory::data_type::f32, memory::format_tag::ab},
                                any({p.m, p.n}, stored(stores_bytes)));
  return make_byte_layer(one, dnnl::matmul::primitive_desc(desc, with_scales(p.n, 1), one.engine));
}

#else

std::unique_ptr<PeerLayer> onednn_convolution(const cpu::ConvProblem&, int) { return nullptr; }
std::unique_ptr<PeerLayer> onednn_matmul(const MatMulProblem&, int) { return nullptr; }
std::unique_ptr<PeerLayer> onednn_byte_convolution(const cpu::ConvProblem&, bool, int) { return nullptr; }
std::unique_ptr<PeerLayer> onednn_byte_matmul(const MatMulProblem&, bool, int) { return nullptr; }

#endif

}  // namespace terroir::bench
