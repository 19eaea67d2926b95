#include "tests/bench/onednn.hpp"

#include <chrono>
#include <unordered_map>
#include <utility>

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
  auto* data = static_cast<float*>(result.get_data_handle());
  for (size_t i = 0; i < desc.get_size() / sizeof(float); ++i) data[i] = static_cast<float>(i % 17) * 0.0625f - 0.5f;
  return result;
}

memory::desc any(const memory::dims& dims) { return {dims, memory::data_type::f32, memory::format_tag::any}; }

class Primitive final : public PeerLayer {
 public:
  Primitive(Peer& peer, const dnnl::primitive& primitive, Arguments arguments, std::string implementation)
      : peer_(peer),
        primitive_(primitive),
        arguments_(std::move(arguments)),
        implementation_(std::move(implementation)) {}

  double run() override {
    const auto start = std::chrono::steady_clock::now();
    primitive_.execute(peer_.stream, arguments_);
    peer_.stream.wait();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  std::string implementation() const override { return implementation_; }

 private:
  Peer& peer_;
  dnnl::primitive primitive_;
  Arguments arguments_;
  std::string implementation_;
};

template <class Description>
std::unique_ptr<PeerLayer> make_convolution(Peer& peer, const Description& description) {
  Arguments arguments = {{DNNL_ARG_SRC, filled(description.src_desc(), peer.engine)},
                         {DNNL_ARG_WEIGHTS, filled(description.weights_desc(), peer.engine)},
                         {DNNL_ARG_BIAS, filled(description.bias_desc(), peer.engine)},
                         {DNNL_ARG_DST, filled(description.dst_desc(), peer.engine)}};
  return std::make_unique<Primitive>(peer, dnnl::primitive(description), std::move(arguments),
                                     description.impl_info_str());
}

}  // namespace

std::unique_ptr<PeerLayer> onednn_convolution(const cpu::ConvProblem& p, int threads) {
  using cpu::ConvAxis;
  Peer& one = peer(threads);
  const bool deep = p.d.in > 1 || p.d.kernel > 1;
  const auto dims = [&](memory::dims head, auto get) {
    if (deep) head.push_back(get(p.d));
    head.push_back(get(p.h));
    head.push_back(get(p.w));
    return head;
  };
  const auto src = dims({p.batch, p.ic}, [](const ConvAxis& a) { return a.in; });
  const auto dst = dims({p.batch, p.oc}, [](const ConvAxis& a) { return a.out; });
  const auto kernel = [](const ConvAxis& a) { return a.kernel; };
  // A grouped transposed convolution is described like a grouped one: [groups, out, in, kernel].
  const auto weights =
      p.groups > 1 ? dims({p.groups, p.oc / p.groups, p.ic / p.groups}, kernel) : dims({p.oc, p.ic}, kernel);
  const auto strides = dims({}, [](const ConvAxis& a) { return a.stride; });
  const auto dilations = dims({}, [](const ConvAxis& a) { return a.dilation - 1; });
  const auto left = dims({}, [](const ConvAxis& a) { return a.pad; });
  const auto right = dims({}, [&](const ConvAxis& a) {
    const int64_t reach = (a.kernel - 1) * a.dilation + 1;
    return p.transposed ? (a.in - 1) * a.stride + reach - a.pad - a.out : (a.out - 1) * a.stride + reach - a.in - a.pad;
  });
  const memory::desc bias({p.oc}, memory::data_type::f32, memory::format_tag::a);
  constexpr auto inference = dnnl::prop_kind::forward_inference;
  if (p.transposed) {
    const dnnl::deconvolution_forward::desc desc(inference, dnnl::algorithm::deconvolution_direct, any(src),
                                                 any(weights), bias, any(dst), strides, dilations, left, right);
    return make_convolution(one, dnnl::deconvolution_forward::primitive_desc(desc, one.engine));
  }
  const dnnl::convolution_forward::desc desc(inference, dnnl::algorithm::convolution_direct, any(src), any(weights),
                                             bias, any(dst), strides, dilations, left, right);
  return make_convolution(one, dnnl::convolution_forward::primitive_desc(desc, one.engine));
}

std::unique_ptr<PeerLayer> onednn_matmul(int64_t batch, int64_t m, int64_t n, int64_t k, bool constant_b, int threads) {
  Peer& one = peer(threads);
  using Tag = memory::format_tag;
  const auto plain = [](const memory::dims& dims) { return memory::desc(dims, memory::data_type::f32, Tag::abc); };
  const memory::dims b{batch, k, n};
  const dnnl::matmul::desc desc(plain({batch, m, k}), constant_b ? any(b) : plain(b), plain({batch, m, n}));
  const dnnl::matmul::primitive_desc description(desc, one.engine);
  Arguments arguments = {{DNNL_ARG_SRC, filled(description.src_desc(), one.engine)},
                         {DNNL_ARG_WEIGHTS, filled(description.weights_desc(), one.engine)},
                         {DNNL_ARG_DST, filled(description.dst_desc(), one.engine)}};
  return std::make_unique<Primitive>(one, dnnl::matmul(description), std::move(arguments), description.impl_info_str());
}

#else

std::unique_ptr<PeerLayer> onednn_convolution(const cpu::ConvProblem&, int) { return nullptr; }
std::unique_ptr<PeerLayer> onednn_matmul(int64_t, int64_t, int64_t, int64_t, bool, int) { return nullptr; }

#endif

}  // namespace terroir::bench
