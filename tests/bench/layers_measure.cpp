#include <algorithm>
#include <map>

#include "tests/bench/layers.hpp"
#include "tests/bench/machine_peak.hpp"

namespace terroir::bench {
namespace {

double peak(cpu::Isa isa) {
  static std::map<cpu::Isa, double> known;
  const auto [entry, fresh] = known.try_emplace(isa, 0.0);
  if (fresh) entry->second = peak_flops(isa);
  return entry->second;
}

}  // namespace

void measure(benchmark::State& state, OneLayer& layer, double flops, cpu::Isa isa, int threads,
             const std::optional<PeerTime>& peer) {
  double best = 1e9;
  layer.run();
  for (auto _ : state) {
    const double seconds = layer.run();
    best = std::min(best, seconds);
    state.SetIterationTime(seconds);
  }
  state.SetLabel(layer.kernel() + (peer ? " | onednn " + peer->implementation : ""));
  state.counters["best_us"] = best * 1e6;
  state.counters["gflops"] = flops / best * 1e-9;
  state.counters["of_peak"] = flops / best / (threads * peak(isa));
  if (!peer) return;
  state.counters["onednn_us"] = peer->seconds * 1e6;
  state.counters["vs_onednn"] = best / peer->seconds;
}

}  // namespace terroir::bench
