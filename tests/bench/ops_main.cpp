// What: one operation at a time on the CPU device, beside a plain copy of as many bytes in the same run and on as many
// threads. Bytes are those of all inputs and outputs, each once.
//   bench_ops [--threads N] [--benchmark_filter='Pad.*']
//   GBs         bytes by the best time of an inference
//   copy_GBs    the same for memcpy of an array of half as many bytes, which reads and writes as many
//   vs_copy     best time by that of the copy: 1 is a copy's speed, more is slower
//   explained   copies that the copy and the arithmetic take at the rates of this machine (machine_peak.hpp), measured
//   in
//               the same run: the sum of both, though they overlap in part
//   gflops      of rows that are nothing but multiply-adds, with its share of the peak of all threads
// The label is the kernel of the operation, "ref:any" is its reference, on one thread; and what its arithmetic is.
#include <benchmark/benchmark.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>

#include "plugins/cpu/isa.hpp"
#include "runtime/parallel/arena.hpp"
#include "tests/bench/machine_peak.hpp"
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

/// Best time of a copy that reads and writes `bytes` in all.
double copy_seconds(double bytes, const parallel::Arena& arena) {
  const auto half = static_cast<size_t>(bytes / 2) + 1;
  std::vector<char> source(half, 1), target(half, 2);
  const int64_t tasks = std::clamp<int64_t>(static_cast<int64_t>(half / 32768), 1, 4 * arena.threads());
  double best = 1e9;
  const auto copy = [&] {
    arena.parallel_for(tasks, [&](int64_t task) {
      const size_t begin = half * static_cast<size_t>(task) / static_cast<size_t>(tasks);
      const size_t end = half * static_cast<size_t>(task + 1) / static_cast<size_t>(tasks);
      std::memcpy(target.data() + begin, source.data() + begin, end - begin);
    });
    benchmark::ClobberMemory();
  };
  for (int i = 0; i < 25; ++i) best = std::min(best, seconds_of(copy));
  return best;
}

class OneOp {
 public:
  OneOp(const OpRow& row, int threads) {
    ModelBuilder builder(row.name);
    std::vector<Output<Node>> inputs;
    for (const OpOperand& operand : row.operands) {
      Tensor value = made(operand);
      bytes_ += static_cast<double>(value.get_byte_size());
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
      bytes_ += static_cast<double>(request_.get_output_tensor(i).get_byte_size());
    for (const ProfilingInfo& layer : request_.get_profiling_info())
      if (layer.node_name == "op") kernel_ = layer.exec_type;
  }
  double run() {
    return seconds_of([&] { request_.infer(); });
  }
  double bytes() const { return bytes_; }
  const std::string& kernel() const { return kernel_; }

 private:
  Core core_;
  InferRequest request_;
  std::vector<Tensor> values_;
  std::string kernel_ = "no step of its own";
  double bytes_ = 0;
};

/// Seconds of one thread.
double work_seconds(const Work& work) {
  const cpu::Isa isa = cpu::available_isas().back();
  double seconds = work.vectors / (peak_flops(isa) / 2) + work.steps / clock_rate();
#if defined(__x86_64__)
  seconds += work.quotients / peak_divisions(isa);
#endif
  return seconds;
}

void measure(benchmark::State& state, const OpRow& row, int threads) {
  OneOp op(row, threads);
  double best = 1e9;
  for (auto _ : state) {
    const double seconds = op.run();
    best = std::min(best, seconds);
    state.SetIterationTime(seconds);
  }
  const double copy = copy_seconds(op.bytes(), parallel::Arena(threads));
  const Work work = work_of(row.name);
  state.SetLabel(*work.why == 0 ? op.kernel() : op.kernel() + ": " + work.why);
  state.counters["best_us"] = best * 1e6;
  state.counters["GBs"] = op.bytes() / best * 1e-9;
  state.counters["copy_GBs"] = op.bytes() / copy * 1e-9;
  state.counters["vs_copy"] = best / copy;
  static const double peak = peak_flops(cpu::available_isas().back());
  const double seconds = (*work.why == 0 ? 0 : work_seconds(work)) + row.flops / peak;
  state.counters["explained"] = 1 + seconds / threads / copy;
  if (row.flops == 0) return;
  state.counters["gflops"] = row.flops / best * 1e-9;
  state.counters["of_peak"] = row.flops / best / (threads * peak);
}

void add(const OpRows& rows, int threads) {
  for (const OpRow& row : rows)
    benchmark::RegisterBenchmark(row.name.c_str(),
                                 [row, threads](benchmark::State& state) {
                                   try {
                                     measure(state, row, threads);
                                   } catch (const std::exception& error) {
                                     state.SkipWithError(error.what());
                                   }
                                 })
        ->UseManualTime()
        ->MinTime(0.05);
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
  for (const auto& rows :
       {movement_rows, image_rows, pointwise_rows, reduction_rows, selection_rows, product_rows, recurrent_rows})
    add(rows(), threads);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
