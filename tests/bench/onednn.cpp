#include "tests/bench/onednn.hpp"

#include <chrono>
#include <string_view>
#include <terroir/bfloat16.hpp>
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
  const auto value = [](size_t i) { return static_cast<float>(i % 17) * 0.0625f - 0.5f; };
  void* const data = result.get_data_handle();
  if (desc.data_type() == memory::data_type::bf16) {
    for (size_t i = 0; i < desc.get_size() / sizeof(bfloat16); ++i) static_cast<bfloat16*>(data)[i] = value(i);
  } else if (desc.data_type() == memory::data_type::f32) {
    for (size_t i = 0; i < desc.get_size() / sizeof(float); ++i) static_cast<float*>(data)[i] = value(i);
  } else {
    for (size_t i = 0; i < desc.get_size(); ++i) static_cast<uint8_t*>(data)[i] = static_cast<uint8_t>(i * 37 % 251);
  }
  return result;
}

memory::desc any(const memory::dims& dims, memory::data_type type = memory::data_type::f32) {
  return {dims, type, memory::format_tag::any};
}

memory::data_type type_of_weights(memory::data_type data) {
  return data == memory::data_type::u8 ? memory::data_type::s8 : data;
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

/// With bias, of weights in the type that goes with the data.
dnnl::convolution_forward::primitive_desc convolution(const Peer& peer, const memory::desc& src,
                                                      const memory::dims& weights, const memory::desc& dst,
                                                      const memory::dims& strides, const memory::dims& dilations,
                                                      const memory::dims& left, const memory::dims& right) {
  const memory::desc bias({dst.dims()[1]}, memory::data_type::f32, memory::format_tag::a);
  return {{dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src,
           any(weights, type_of_weights(src.data_type())), bias, dst, strides, dilations, left, right},
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

/// Of matrices, with bias.
dnnl::matmul::primitive_desc product(const Peer& peer, const memory::desc& src, const memory::desc& dst,
                                     const dnnl::primitive_attr& attributes = {}) {
  const int64_t inputs = src.dims()[1], outputs = dst.dims()[1];
  const memory::desc weights = any({inputs, outputs}, type_of_weights(src.data_type()));
  const memory::desc bias({1, outputs}, memory::data_type::f32, memory::format_tag::ab);
  return {{src, weights, bias, dst}, attributes, peer.engine};
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
  return any(dims, desc.data_type());
}

template <class Description>
bool is_reference(const Description& description) {
  return std::string_view(description.impl_info_str()).starts_with("ref");
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

/// A layer that makes `src`, or a reorder where the peer has none but its reference kernel, which would sweep the
/// caches.
Step layer_before(const Peer& peer, const memory& src) {
  const memory::desc made = src.get_desc(), from = with_channels(made, OneLayer::kChannelsBefore);
  const auto step = [&](const auto& first) {
    return is_reference(first) ? reorder(plain_floats(made, peer.engine), src)
                               : make_step(peer, first, filled(first.src_desc(), peer.engine), src);
  };
  return made.dims().size() > 2 ? step(pointwise(peer, from, made)) : step(product(peer, from, made));
}

/// What reads `dst`, likewise.
Step layer_behind(const Peer& peer, const memory& dst) {
  const memory::desc read = dst.get_desc(), to = with_channels(read, OneLayer::kChannelsBehind);
  const auto step = [&](const auto& last) {
    return is_reference(last) ? reorder(dst, plain_floats(read, peer.engine))
                              : make_step(peer, last, dst, filled(last.dst_desc(), peer.engine));
  };
  return read.dims().size() > 2 ? step(pointwise(peer, read, to)) : step(product(peer, read, to));
}

/// Between the layers that OneLayer has around it, so that sources and results lie where a network has them. What a
/// model returns may have any layout here: the peer is spared what making it plain takes.
template <class Description>
std::unique_ptr<PeerLayer> make_convolution(Peer& peer, const Description& description) {
  const memory src = filled(description.src_desc(), peer.engine), dst = filled(description.dst_desc(), peer.engine);
  std::vector<Step> before, behind;
  const OneLayer::Place place = OneLayer::place_of(src.get_desc().dims()[1], dst.get_desc().dims()[1]);
  if (place.before) before.push_back(layer_before(peer, src));
  if (place.behind) behind.push_back(layer_behind(peer, dst));
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

memory::data_type data_of(NarrowType type) {
  return type == NarrowType::bytes ? memory::data_type::u8 : memory::data_type::bf16;
}
memory::data_type stored(NarrowType type, bool narrow) { return narrow ? data_of(type) : memory::data_type::f32; }

/// In bytes a scale of each output, which are along axis 1.
dnnl::primitive_attr attributes_of(NarrowType type, int64_t outputs) {
  dnnl::primitive_attr attributes;
  if (type != NarrowType::bytes) return attributes;
  std::vector<float> scales;
  for (int64_t i = 0; i < outputs; ++i) scales.push_back(static_cast<float>(1 + i % 5) / 4096);
  attributes.set_output_scales(1 << 1, scales);
  return attributes;
}

template <class Description>
std::unique_ptr<PeerLayer> make_narrow_layer(Peer& peer, const Description& description) {
  const memory src = filled(description.src_desc(), peer.engine), dst = filled(description.dst_desc(), peer.engine);
  const auto is_bf16 = [](const memory& m) { return m.get_desc().data_type() == memory::data_type::bf16; };
  const bool first = src.get_desc().dims().size() > 2 && !OneLayer::place_of(src.get_desc().dims()[1], 1).before;
  return std::make_unique<Primitive>(
      peer, make_step(peer, description, src, dst), description.impl_info_str(),
      std::vector{is_bf16(src) && !first ? layer_before(peer, src)
                                         : reorder(plain_floats(src.get_desc(), peer.engine), src)},
      std::vector{is_bf16(dst) ? layer_behind(peer, dst) : reorder(dst, plain_floats(dst.get_desc(), peer.engine))});
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

std::unique_ptr<PeerLayer> onednn_narrow_convolution(const cpu::ConvProblem& p, NarrowType type, bool stores_narrow,
                                                     int threads) {
  Peer& one = peer(threads);
  const ConvolutionDims dims = dims_of(p);
  const memory::desc src = any(dims.src, data_of(type)), dst = any(dims.dst, stored(type, stores_narrow));
  const memory::desc weights = any(dims.weights, type_of_weights(data_of(type)));
  const memory::desc bias({p.oc}, memory::data_type::f32, memory::format_tag::a);
  const auto make = [&](const auto& description) { return make_narrow_layer(one, description); };
  if (p.transposed)
    return make(dnnl::deconvolution_forward::primitive_desc(
        {dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, src, weights, bias, dst,
         dims.strides, dims.dilations, dims.left, dims.right},
        attributes_of(type, p.oc), one.engine));
  return make(dnnl::convolution_forward::primitive_desc(
      {dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, src, weights, bias, dst, dims.strides,
       dims.dilations, dims.left, dims.right},
      attributes_of(type, p.oc), one.engine));
}

std::unique_ptr<PeerLayer> onednn_narrow_matmul(const MatMulProblem& p, NarrowType type, bool stores_narrow,
                                                int threads) {
  Peer& one = peer(threads);
  return make_narrow_layer(one, product(one, any({p.m, p.k}, data_of(type)),
                                        any({p.m, p.n}, stored(type, stores_narrow)), attributes_of(type, p.n)));
}

#else

std::unique_ptr<PeerLayer> onednn_convolution(const cpu::ConvProblem&, int) { return nullptr; }
std::unique_ptr<PeerLayer> onednn_matmul(const MatMulProblem&, int) { return nullptr; }
std::unique_ptr<PeerLayer> onednn_narrow_convolution(const cpu::ConvProblem&, NarrowType, bool, int) { return nullptr; }
std::unique_ptr<PeerLayer> onednn_narrow_matmul(const MatMulProblem&, NarrowType, bool, int) { return nullptr; }

#endif

}  // namespace terroir::bench
