// What: how far the layers of models are from what the machine allows. Per model: the best latency, the sum of the best
// times of its steps, and the sum of their floors; with --layers, each step, those first that lose most.
//   bench_floors MODEL.xml... [--threads 2] [--seconds 4] [--layers 20]
// The floor of a step is the larger of
//   - its multiplications and additions (convolutions and matrix products, Winograd's by what the algorithm multiplies,
//     transforms not counted) by the multiply-add peak of all threads, and
//   - the bytes it must fetch (weights, packed as the kernel reads them; operands that do not fit the threads' L2) or
//     store (results that do not fit) by what all threads together read from beyond L2.
// Peak, bandwidth and steps are measured in turns in one run, and the best of each counts: clocks of shared machines
// change by the second.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <utility>

#include "ir/graph/infer.hpp"
#include "ir/xml/reader.hpp"
#include "ops/defs/matrix/matmul.hpp"
#include "ops/registry.hpp"
#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/kernels/conv_wino/conv_wino.hpp"
#include "plugins/cpu/kernels/conv_wino/one_axis_conv.hpp"
#include "plugins/cpu/kernels/conv_wino/polyphase_conv.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/stage_node.hpp"
#include "plugins/cpu/run.hpp"
#include "plugins/cpu/stored_plan.hpp"
#include "tests/bench/machine_peak.hpp"

namespace terroir::bench {
namespace {

using Clock = std::chrono::steady_clock;

struct Work {
  double flops = 0, weight_bytes = 0;
};

/// Whether a step's kernel is this one, alone or with others: "a+b".
bool runs(const std::string& kernel, const std::string& name) {
  return ("+" + kernel + "+").find("+" + name + "+") != std::string::npos;
}

/// Paired kernels take a multiply-add for 11 of 16 channels.
double multiplied_share(const std::string& kernel) {
  return kernel.find("_paired_") == std::string::npos ? 1 : 11.0 / 16;
}

/// `kernel`: of the step.
Work convolution_work(const cpu::NodeContext& context, const std::string& kernel) {
  const cpu::ConvProblem problem = cpu::conv_problem(context);
  const auto weights = static_cast<double>(ir::element_count(context.inputs[1].dims));
  for (const cpu::WinoKernel& winograd : cpu::wino_kernels(context.isa)) {
    if (!runs(kernel, winograd.name) || cpu::wino_reject(problem, winograd)) continue;
    const cpu::WinoPlan plan = cpu::wino_plan(problem, winograd);
    const auto tiles = static_cast<double>(problem.batch * plan.rows.tiles * plan.cols.tiles * problem.d.out);
    const auto points = static_cast<double>(plan.alpha * plan.alpha);
    const auto pairs = static_cast<double>(problem.ic / problem.groups * problem.oc * problem.d.kernel);
    return {2 * tiles * points * pairs, 4 * static_cast<double>(plan.packed_floats)};
  }
  using Products = double (*)(const cpu::ConvPlan&) noexcept;
  const std::pair<const cpu::ConvKernel*, Products> forms[] = {
      {cpu::polyphase_kernel(context.isa), &cpu::polyphase_products},
      {cpu::polyphase_2x2_kernel(context.isa), &cpu::polyphase_2x2_products},
      {cpu::one_axis_kernel(context.isa), &cpu::one_axis_products}};
  for (const auto& [form, products] : forms) {
    if (!form || !runs(kernel, form->name) || form->reject(problem, *form)) continue;
    cpu::ConvPlan plan;
    form->plan(problem, *form, plan);
    return {2 * products(plan), 4 * static_cast<double>(plan.packed_floats)};
  }
  return {static_cast<double>(cpu::conv_flops(problem)) * multiplied_share(kernel), 4 * weights};
}

Work product_work(const cpu::NodeContext& context, const std::string& kernel) {
  const bool transposed = ir::attributes_as<ops::MatMulAttrs>(cpu::base_attributes(context.node)).transpose_a;
  const ir::Dims& a = context.inputs[0].dims;
  const int64_t inner = a.size() < 2 ? a.back() : a[a.size() - (transposed ? 2 : 1)];
  const double weights = context.constants[1] ? static_cast<double>(ir::element_count(context.inputs[1].dims)) : 0;
  const double flops = 2.0 * static_cast<double>(inner * ir::element_count(context.outputs[0].dims));
  return {flops * multiplied_share(kernel), 4 * weights};
}

Work work_of(const cpu::NodeContext& context, const cpu::Step& step) {
  const ir::Node& node = context.node;
  Work work;
  if (node.is("Convolution") || node.is("GroupConvolution") || node.is("ConvolutionBackpropData") ||
      node.is("GroupConvolutionBackpropData"))
    return convolution_work(context, step.kernel);
  if (node.is("MatMul")) return product_work(context, step.kernel);
  if (node.is(cpu::kConvolutionChainType)) {
    for (const auto& stage : cpu::stage_nodes(context)) {
      // Not a gate, a pooling, or what is joined.
      if (stage->node.schema->type.find("Convolution") == std::string::npos) continue;
      const Work one = convolution_work(stage->context, step.kernel);
      work.flops += one.flops;
      work.weight_bytes += one.weight_bytes;
    }
  }
  return work;
}

/// Sums of lines by all threads, over more than their L2.
class Reader {
 public:
  explicit Reader(const parallel::Arena& arena)
      : arena_(arena), data_(static_cast<size_t>(arena.threads() * 4 * cpu::cache_sizes().l2) / 4, 1.0f) {}

  double bytes_per_second() {
    const int64_t parts = arena_.threads(), count = static_cast<int64_t>(data_.size()) / parts;
    const auto start = Clock::now();
    arena_.parallel_for(parts, [&](int64_t part) {
      // One element of each line, in so many streams that the misses overlap.
      constexpr int64_t kStreams = 8, kLine = 16;
      const float* p = data_.data() + part * count;
      const int64_t stream = count / kStreams / kLine * kLine;
      float sums[kStreams] = {};
      for (int64_t i = 0; i < stream; i += kLine)
        for (int64_t j = 0; j < kStreams; ++j) sums[j] += p[j * stream + i];
      for (const float sum : sums) {
        volatile float sink = sum;
        (void)sink;
      }
    });
    return 4.0 * static_cast<double>(data_.size()) / std::chrono::duration<double>(Clock::now() - start).count();
  }

 private:
  const parallel::Arena& arena_;
  std::vector<float> data_;
};

struct Layer {
  std::string name, kernel;
  Work work;
  double moved_bytes, seconds;
};

class Model {
 public:
  Model(const std::string& path, cpu::Isa isa, const parallel::Arena& arena) : arena_(arena) {
    const auto graph = ir::read_model(path, {}, ops::builtin_registry());
    ir::infer_graph(*graph);
    std::vector<ir::Dims> extents;
    for (const ir::NodeId id : graph->parameters())
      extents.push_back(ir::to_dims(graph->node(id).outputs[0].shape.to_shape()));
    cpu::CompileOptions options;
    options.isa = isa;
    options.threads = arena.threads();
    std::shared_ptr<const cpu::Plan> plan =
        cpu::compile_plan(cpu::bound_graph(cpu::rewrite_portable(*graph), extents), weights_, options, arena, true);
    describe(*plan, isa);
    state_ = std::make_unique<cpu::PlanState>(plan, arena);
    const auto buffer = [&](const cpu::TensorDesc& desc) {
      buffers_.emplace_back(desc.bytes());
      std::fill_n(buffers_.back().as<char>(), desc.bytes(), char{0});
      return buffers_.back().data();
    };
    for (size_t i = 0; i < plan->inputs.size(); ++i) state_->bind_input(i, buffer(plan->inputs[i]));
    for (size_t i = 0; i < plan->outputs.size(); ++i) state_->bind_output(i, buffer(plan->outputs[i]));
    times_.resize(plan->steps.size());
  }

  /// Seconds, with a clock read around each step.
  double run() {
    const auto start = Clock::now();
    state_->run(arena_, cancelled_, times_.data());
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    for (size_t i = 0; i < times_.size(); ++i)
      layers_[i].seconds = std::min(layers_[i].seconds, std::chrono::duration<double>(times_[i]).count());
    return seconds;
  }
  const std::vector<Layer>& layers() const { return layers_; }

 private:
  void describe(const cpu::Plan& plan, cpu::Isa isa) {
    const ir::Graph& graph = *plan.source->graph;
    std::map<std::string, ir::NodeId> nodes;
    for (const ir::NodeId id : graph.nodes()) nodes[graph.node(id).name] = id;
    const double l2 = static_cast<double>(arena_.threads() * cpu::cache_sizes().l2);
    for (const cpu::Step& step : plan.steps) {
      Layer layer{step.name, step.kernel, {}, 0, 1e9};
      if (const auto found = nodes.find(step.name); found != nodes.end())
        layer.work = work_of(cpu::make_context(graph, graph.node(found->second), isa, weights_), step);
      layer.moved_bytes = layer.work.weight_bytes + std::max(0.0, static_cast<double>(step.bytes) - l2);
      layers_.push_back(std::move(layer));
    }
  }

  const parallel::Arena& arena_;
  cpu::WeightsCache weights_;
  std::unique_ptr<cpu::PlanState> state_;
  std::vector<AlignedBuffer> buffers_;
  std::vector<std::chrono::nanoseconds> times_;
  std::vector<Layer> layers_;
  std::atomic<bool> cancelled_{false};
};

void measure(const std::string& path, cpu::Isa isa, const parallel::Arena& arena, double seconds, size_t shown) {
  Model model(path, isa, arena);
  Reader reader(arena);
  double best = 1e9, peak = 0, bandwidth = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  for (int i = 0; i < 3 || Clock::now() < end; ++i) {
    best = std::min(best, model.run());
    constexpr int64_t kShort = 20000;
    peak = std::max(peak, peak_flops_once(isa, kShort) * arena.threads());
    if (i % 8 == 0) bandwidth = std::max(bandwidth, reader.bytes_per_second());
  }
  double steps = 0, floors = 0, flops = 0, bytes = 0;
  const auto floor_of = [&](const Layer& layer) {
    return std::max(layer.work.flops / peak, layer.moved_bytes / bandwidth);
  };
  for (const Layer& layer : model.layers()) {
    steps += layer.seconds;
    floors += floor_of(layer);
    flops += layer.work.flops;
    bytes += layer.moved_bytes;
  }
  std::printf("%-20s %8.2f %8.2f %8.2f %6.2f | %8.2f %8.2f | %6.0f %6.1f\n", std::filesystem::path(path).stem().c_str(),
              best * 1e3, steps * 1e3, floors * 1e3, steps / floors, flops * 1e-9, bytes * 1e-6, peak * 1e-9,
              bandwidth * 1e-9);
  std::vector<Layer> layers = model.layers();
  const auto lost = [&](const Layer& layer) { return layer.seconds - floor_of(layer); };
  std::stable_sort(layers.begin(), layers.end(), [&](const Layer& a, const Layer& b) { return lost(a) > lost(b); });
  for (size_t i = 0; i < std::min(shown, layers.size()); ++i) {
    const Layer& layer = layers[i];
    std::printf("    %8.1f us, floors %8.1f (arithmetic) %8.1f (bytes), %4.0f %% of peak  %s  %s\n",
                layer.seconds * 1e6, layer.work.flops / peak * 1e6, layer.moved_bytes / bandwidth * 1e6,
                100 * layer.work.flops / layer.seconds / peak, layer.name.c_str(), layer.kernel.c_str());
  }
  std::fflush(stdout);
}

}  // namespace
}  // namespace terroir::bench

int main(int argc, char** argv) {
  CLI::App app("Layers of models beside what the machine allows");
  std::vector<std::string> models;
  int threads = 2;
  double seconds = 4;
  size_t shown = 0;
  app.add_option("models", models, "IR files with static shapes")->required()->check(CLI::ExistingFile);
  app.add_option("--threads", threads)->check(CLI::PositiveNumber);
  app.add_option("--seconds", seconds, "Of each model")->check(CLI::PositiveNumber);
  app.add_option("--layers", shown, "Steps to print of each model");
  CLI11_PARSE(app, argc, argv);
  const terroir::parallel::Arena arena(threads);
  std::printf("milliseconds; GFLOP and MB of one inference; GFLOP/s and GB/s of %d threads\n", threads);
  std::printf("%-20s %8s %8s %8s %6s | %8s %8s | %6s %6s\n", "model", "latency", "steps", "floor", "ratio", "GFLOP",
              "MB", "peak", "read");
  for (const std::string& model : models)
    terroir::bench::measure(model, terroir::cpu::active_isa(), arena, seconds, shown);
}
