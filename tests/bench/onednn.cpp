#include "tests/bench/onednn.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_map>

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

/// At least 5 executions and 30 ms.
double best_seconds(Peer& peer, const dnnl::primitive& primitive, const Arguments& arguments) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  const auto begin = Clock::now();
  for (int i = 0; i < 5 || Clock::now() - begin < std::chrono::milliseconds(30); ++i) {
    const auto start = Clock::now();
    primitive.execute(peer.stream, arguments);
    peer.stream.wait();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

memory::desc any(const memory::dims& dims) { return {dims, memory::data_type::f32, memory::format_tag::any}; }

template <class Description>
PeerTime time_convolution(Peer& peer, const Description& description) {
  const Arguments arguments = {{DNNL_ARG_SRC, filled(description.src_desc(), peer.engine)},
                               {DNNL_ARG_WEIGHTS, filled(description.weights_desc(), peer.engine)},
                               {DNNL_ARG_BIAS, filled(description.bias_desc(), peer.engine)},
                               {DNNL_ARG_DST, filled(description.dst_desc(), peer.engine)}};
  const dnnl::primitive primitive(description);
  return {best_seconds(peer, primitive, arguments), description.impl_info_str()};
}

}  // namespace

std::optional<PeerTime> onednn_convolution(const cpu::ConvProblem& p, int threads) {
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
    return time_convolution(one, dnnl::deconvolution_forward::primitive_desc(desc, one.engine));
  }
  const dnnl::convolution_forward::desc desc(inference, dnnl::algorithm::convolution_direct, any(src), any(weights),
                                             bias, any(dst), strides, dilations, left, right);
  return time_convolution(one, dnnl::convolution_forward::primitive_desc(desc, one.engine));
}

std::optional<PeerTime> onednn_matmul(int64_t batch, int64_t m, int64_t n, int64_t k, bool constant_b, int threads) {
  Peer& one = peer(threads);
  using Tag = memory::format_tag;
  const auto plain = [](const memory::dims& dims) { return memory::desc(dims, memory::data_type::f32, Tag::abc); };
  const memory::dims b{batch, k, n};
  const dnnl::matmul::desc desc(plain({batch, m, k}), constant_b ? any(b) : plain(b), plain({batch, m, n}));
  const dnnl::matmul::primitive_desc description(desc, one.engine);
  const Arguments arguments = {{DNNL_ARG_SRC, filled(description.src_desc(), one.engine)},
                               {DNNL_ARG_WEIGHTS, filled(description.weights_desc(), one.engine)},
                               {DNNL_ARG_DST, filled(description.dst_desc(), one.engine)}};
  return PeerTime{best_seconds(one, dnnl::matmul(description), arguments), description.impl_info_str()};
}

#else

std::optional<PeerTime> onednn_convolution(const cpu::ConvProblem&, int) { return {}; }
std::optional<PeerTime> onednn_matmul(int64_t, int64_t, int64_t, int64_t, bool, int) { return {}; }

#endif

}  // namespace terroir::bench
