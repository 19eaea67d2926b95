// What: one operation at a time on the CPU device, beside a plain copy of as many bytes in the same run and on as many
// threads. Bytes are those of all inputs and outputs, each once; of tables what is read.
//   bench_ops [--threads N] [--benchmark_filter='Pad.*']
//   GBs, copy_GBs              bytes by the best time of an inference, and by the best of a copy
//   slower, explained, beyond  see beside_copy.hpp: the row is as fast as its arithmetic allows where beyond is 1
//   gflops                     of rows that are nothing but multiply-adds, with its share of the peak of all threads
// The label is the kernel of the operation, "ref:any" is its reference, on one thread; and what its arithmetic is.
// In the end it says how many rows are slower than explained.
#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "runtime/parallel/arena.hpp"
#include "tests/bench/ops.hpp"

namespace terroir::bench {
namespace {

constexpr int64_t kShuffle = 7919;  // a prime: visits all of [0, limit) in an order that is not theirs

double element_of(const OpOperand& operand, size_t i) {
  const auto position = static_cast<int64_t>(i);
  if (!operand.integers.empty()) return static_cast<double>(operand.integers[i]);
  switch (operand.fill) {
    case OpOperand::Fill::indices:
      return static_cast<double>(position * kShuffle % operand.limit);
    case OpOperand::Fill::one:
      return operand.value;
    case OpOperand::Fill::values:
      break;
  }
  const bool is_signed = operand.type.is_signed() && operand.type != element::boolean;
  if (operand.type.is_real()) return static_cast<double>(position * 37 % 251) * 0.0078125 - 0.975;
  if (operand.type == element::boolean) return static_cast<double>(position * 37 % 3 % 2);
  return static_cast<double>(position * 37 % 101 - (is_signed ? 50 : 0));
}

template <typename T>
void fill(Tensor& tensor, const OpOperand& operand) {
  T* data = static_cast<T*>(tensor.data());
  for (size_t i = 0; i < tensor.get_size(); ++i) data[i] = static_cast<T>(element_of(operand, i));
}

Tensor made(const OpOperand& operand) {
  Tensor tensor(operand.type, operand.shape);
  if (operand.type == element::f32)
    fill<float>(tensor, operand);
  else if (operand.type == element::f64)
    fill<double>(tensor, operand);
  else if (operand.type == element::i64)
    fill<int64_t>(tensor, operand);
  else if (operand.type == element::i32)
    fill<int32_t>(tensor, operand);
  else if (operand.type == element::u8 || operand.type == element::boolean)
    fill<uint8_t>(tensor, operand);
  else if (operand.type == element::i8)
    fill<int8_t>(tensor, operand);
  else if (operand.type == element::f16)
    fill<float16>(tensor, operand);
  else if (operand.type == element::bf16)
    fill<bfloat16>(tensor, operand);
  else
    throw std::invalid_argument("bench_ops has no values for " + operand.type.get_type_name());
  return tensor;
}

double seconds_of(const std::function<void()>& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class OneOp {
 public:
  OneOp(const OpRow& row, int threads) {
    ModelBuilder builder(row.name);
    std::vector<Output<Node>> inputs;
    for (const OpOperand& operand : row.operands) {
      Tensor value = made(operand);
      const auto bytes = static_cast<double>(value.get_byte_size());
      traffic_.read +=
          operand.read < 0 ? bytes : bytes * static_cast<double>(operand.read) / static_cast<double>(value.get_size());
      if (operand.constant) {
        inputs.push_back(builder.constant(value));
      } else {
        inputs.push_back(builder.parameter(operand.type, PartialShape(operand.shape)));
        values_.push_back(std::move(value));
      }
    }
    Output<Node> first = builder.op(row.type, row.opset, inputs, row.attributes, "op");
    for (size_t i = 0; i < first.get_node()->get_output_size(); ++i) builder.result(first.get_node()->output(i));
    const auto model = builder.build();
    const AnyMap properties{inference_num_threads(threads), num_streams(1), enable_profiling(true)};
    request_ = core_.compile_model(model, "CPU", properties).create_infer_request();
    for (size_t i = 0; i < values_.size(); ++i) request_.set_input_tensor(i, values_[i]);
    request_.infer();
    for (size_t i = 0; i < model->outputs().size(); ++i)
      traffic_.written += static_cast<double>(request_.get_output_tensor(i).get_byte_size());
    for (const ProfilingInfo& layer : request_.get_profiling_info())
      if (layer.node_name == "op") kernel_ = layer.exec_type;
  }
  double run() {
    return seconds_of([&] { request_.infer(); });
  }
  Traffic traffic() const { return traffic_; }
  const std::string& kernel() const { return kernel_; }

 private:
  Core core_;
  InferRequest request_;
  std::vector<Tensor> values_;
  std::string kernel_ = "no step of its own";
  Traffic traffic_;
};

/// How far rows are beyond what explains them.
struct Tally {
  int rows = 0, within = 0, far = 0;
  void add(double beyond) {
    ++rows;
    within += beyond <= 1.1;
    far += beyond > 1.25;
  }
};

void measure(benchmark::State& state, const OpRow& row, int threads, Tally& tally) {
  OneOp op(row, threads);
  Work work = work_of(row.name);
  state.SetLabel(*work.why == 0 ? op.kernel() : op.kernel() + ": " + work.why);
  work.vectors += row.flops / 2;
  for (auto _ : state) {
    const BesideCopy times = beside_copy([&] { return op.run(); }, op.traffic(), work, parallel::Arena(threads));
    state.SetIterationTime(times.best);
    state.counters["best_us"] = times.best * 1e6;
    state.counters["GBs"] = op.traffic().all() / times.best * 1e-9;
    state.counters["copy_GBs"] = op.traffic().all() / times.best_copy * 1e-9;
    state.counters["slower"] = times.slower;
    state.counters["explained"] = times.explained;
    state.counters["beyond"] = times.beyond;
    tally.add(times.beyond);
    if (row.flops == 0) continue;
    state.counters["gflops"] = row.flops / times.best * 1e-9;
    state.counters["of_peak"] = row.flops / times.best / (threads * times.best_peak);
  }
}

void add(const OpRows& rows, int threads, Tally& tally) {
  for (const OpRow& row : rows)
    benchmark::RegisterBenchmark(row.name.c_str(),
                                 [row, threads, &tally](benchmark::State& state) {
                                   try {
                                     measure(state, row, threads, tally);
                                   } catch (const std::exception& error) {
                                     state.SkipWithError(error.what());
                                   }
                                 })
        ->UseManualTime()
        ->Iterations(1);
}

}  // namespace
}  // namespace terroir::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  CLI::App app("One operation at a time on the CPU device, beside a plain copy of its bytes");
  int threads = 1;
  app.add_option("--threads", threads, "Threads of each operation and of the copy")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  using namespace terroir::bench;
  Tally tally;
  for (const auto& rows :
       {movement_rows, image_rows, pointwise_rows, reduction_rows, selection_rows, product_rows, recurrent_rows})
    add(rows(), threads, tally);
  benchmark::RunSpecifiedBenchmarks();
  std::fprintf(stderr, "%d rows: %d within 1.1 of what explains their time, %d beyond 1.25\n", tally.rows, tally.within,
               tally.far);
  benchmark::Shutdown();
}
