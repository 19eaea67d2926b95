// What a parallel loop and an inference cost when there is nothing to do.
#include <benchmark/benchmark.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "runtime/api/compiled_state.hpp"
#include "runtime/parallel/arena.hpp"
#include "terroir/terroir.hpp"

namespace terroir {
namespace {

// About 4n nanoseconds of dependent arithmetic.
void work(int64_t n) {
  float x = 1;
  for (int64_t i = 0; i < n; ++i) benchmark::DoNotOptimize(x = x * 1.0001f + 0.5f);
}

void arena_loop(benchmark::State& state) {
  const parallel::Arena arena(static_cast<int>(state.range(0)));
  for (auto _ : state) arena.parallel_for(2, [&](int64_t) { work(state.range(1)); });
}
BENCHMARK(arena_loop)->ArgNames({"threads", "work"})->ArgsProduct({{1, 2}, {0, 250, 2500, 25000}})->UseRealTime();

// The yardstick: the same loop through TBB's own dispatch.
void tbb_loop(benchmark::State& state) {
  tbb::task_arena arena(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    arena.execute([&] {
      tbb::parallel_for(
          0, 2, [&](int) { work(state.range(1)); }, tbb::static_partitioner());
    });
  }
}
BENCHMARK(tbb_loop)->ArgNames({"threads", "work"})->ArgsProduct({{2}, {0, 250, 2500, 25000}})->UseRealTime();

class NoRequest final : public plugin::RequestState {
 public:
  void infer(std::span<const ir::TensorView> inputs, plugin::OutputBinder& outputs,
             const plugin::RunContext&) override {
    benchmark::DoNotOptimize(outputs.bind(0, element::f32, inputs[0].dims));
  }
};

class NoCompiled final : public plugin::CompiledGraph {
 public:
  explicit NoCompiled(const ir::Graph& graph) : CompiledGraph(graph, "NONE", {}, 1) {}
  std::unique_ptr<plugin::RequestState> create_request() const override { return std::make_unique<NoRequest>(); }
};

InferRequest empty_request() {
  ModelBuilder b;
  b.result(b.op("ReLU", "opset1", {b.parameter(element::f32, {1, 3, 224, 224})}));
  return detail::RuntimeAccess::make(std::make_shared<detail::CompiledState>(
                                         std::make_shared<NoCompiled>(*detail::ModelAccess::state(*b.build())->graph)))
      .create_infer_request();
}

void empty_infer(benchmark::State& state) {
  InferRequest request = empty_request();
  for (auto _ : state) request.infer();
}
BENCHMARK(empty_infer);

void empty_start_async_and_wait(benchmark::State& state) {
  InferRequest request = empty_request();
  for (auto _ : state) {
    request.start_async();
    request.wait();
  }
}
BENCHMARK(empty_start_async_and_wait)->UseRealTime();

}  // namespace
}  // namespace terroir

BENCHMARK_MAIN();
