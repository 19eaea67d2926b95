#include <algorithm>
#include <vector>

#include "tests/bench/beside_copy.hpp"
#include "tests/bench/layers.hpp"
#include "tests/bench/machine_peak.hpp"

namespace terroir::bench {

std::vector<std::string> float_isa_names() {
  std::vector<std::string> names;
  for (const cpu::Isa isa : cpu::available_isas()) names.emplace_back(cpu::isa_name(isa));
  if (cpu::active_byte_products() == cpu::ByteProducts::avx512_amx) names.emplace_back("avx512_amx");
  return names;
}

void measure(benchmark::State& state, LayerStep& layer, double flops, cpu::Isa isa, int threads, PeerLayer* peer) {
  constexpr int64_t kShort = 50000;  // some 100 us: to ask the clock takes two of them on some machines
  measure(
      state, layer, flops, [isa] { return peak_flops_once(isa, kShort); }, threads, peer);
}

void measure(benchmark::State& state, LayerStep& layer, double flops, const std::function<double()>& peak, int threads,
             PeerLayer* peer) {
  double best = 1e9, best_peer = 1e9, best_peak = 0;
  // On a machine that others use too, the two runs of a pair meet the same load, best runs of either need not.
  std::vector<double> pairs;
  for (auto _ : state) {
    layer.run();  // weights and sources are again where the runs before left them
    const double seconds = layer.run();
    best = std::min(best, seconds);
    state.SetIterationTime(seconds);
    if (peer) {
      peer->run();
      const double seconds_peer = peer->run();
      best_peer = std::min(best_peer, seconds_peer);
      pairs.push_back(seconds / seconds_peer);
    }
    best_peak = std::max(best_peak, peak());
  }
  state.SetLabel(layer.kernel() + (peer ? " | onednn " + peer->implementation() : ""));
  state.counters["best_us"] = best * 1e6;
  state.counters["gflops"] = flops / best * 1e-9;
  state.counters["of_peak"] = flops / best / (threads * best_peak);
  if (!peer) return;
  state.counters["onednn_us"] = best_peer * 1e6;
  state.counters["vs_onednn"] = best / best_peer;
  // Waiting threads of the peer's OpenMP keep their cores busy for a while, which ours would need next.
  if (threads == 1) state.counters["pairs_vs_onednn"] = median(pairs);
}

}  // namespace terroir::bench
