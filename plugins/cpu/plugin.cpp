#include "plugins/cpu/plugin.hpp"

#include <fstream>

#include "ir/base/log.hpp"
#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/plan_cache.hpp"
#include "plugins/cpu/run.hpp"
#include "runtime/parallel/available_threads.hpp"

namespace terroir::cpu {
namespace {

class CpuRequest final : public plugin::RequestState {
 public:
  CpuRequest(std::shared_ptr<PlanCache> plans, bool profiling) : plans_(std::move(plans)), profiling_(profiling) {}

  void infer(std::span<const ir::TensorView> inputs, plugin::OutputBinder& outputs,
             const plugin::RunContext& context) override {
    PlanState& state = state_for(inputs);
    for (size_t i = 0; i < inputs.size(); ++i) state.bind_input(i, inputs[i].data);
    const Plan& plan = state.plan();
    for (size_t i = 0; i < plan.outputs.size(); ++i)
      state.bind_output(i, outputs.bind(i, plan.outputs[i].type, plan.outputs[i].dims));
    if (profiling_) {
      times_.assign(plan.steps.size(), {});
      profiled_ = &plan;
    }
    state.run(context.arena, context.cancelled, profiling_ ? times_.data() : nullptr);
  }

  std::vector<ProfilingInfo> profiling() const override {
    std::vector<ProfilingInfo> infos;
    for (size_t i = 0; i < times_.size(); ++i) {
      const Step& step = profiled_->steps[i];
      const auto time = std::chrono::duration_cast<std::chrono::microseconds>(times_[i]);
      infos.push_back({ProfilingInfo::Status::EXECUTED, time, time, step.name, step.kernel, step.type});
      for (const std::string& name : step.origin_names)
        infos.push_back({ProfilingInfo::Status::OPTIMIZED_OUT, {}, {}, name, "fused into " + step.name, ""});
    }
    return infos;
  }

 private:
  static bool same_shapes(std::span<const ir::TensorView> inputs, const Plan& plan) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].dims != plan.inputs[i].dims) return false;
    return true;
  }

  PlanState& state_for(std::span<const ir::TensorView> inputs) {
    if (state_ && same_shapes(inputs, state_->plan())) return *state_;
    std::vector<ir::Dims> dims;
    for (const ir::TensorView& input : inputs) dims.push_back(input.dims);
    state_ = std::make_unique<PlanState>(plans_->get(dims));
    return *state_;
  }

  std::shared_ptr<PlanCache> plans_;
  bool profiling_;
  std::unique_ptr<PlanState> state_;
  std::vector<std::chrono::nanoseconds> times_;
  const Plan* profiled_ = nullptr;
};

class CpuCompiledGraph final : public plugin::CompiledGraph {
 public:
  CpuCompiledGraph(const ir::Graph& graph, const plugin::Config& config)
      : CompiledGraph(graph, "CPU", config, parallel::available_threads()) {
    CompileOptions options;
    options.isa = active_isa();
    options.threads = threading().threads_per_stream;
    options.graph_text = log_enabled(LogCategory::pass);
    plans_ = std::make_shared<PlanCache>(rewrite_portable(graph), options);
    std::vector<ir::Dims> dims;
    for (const plugin::PortInfo& input : inputs()) {
      if (input.shape.is_dynamic()) return;  // plans are made when shapes are known
      dims.push_back(ir::to_dims(input.shape.to_shape()));
    }
    const auto plan = plans_->get(dims);
    if (!plan->graph_text.empty()) log_line(LogCategory::pass, plan->graph_text);
    plans_->forget_graph();
  }

  std::unique_ptr<plugin::RequestState> create_request() const override {
    return std::make_unique<CpuRequest>(plans_, config().profiling);
  }

 private:
  std::shared_ptr<PlanCache> plans_;
};

class CpuPlugin final : public plugin::Plugin {
 public:
  std::string device_name() const override { return "CPU"; }

  std::string full_device_name() const override {
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; std::getline(cpuinfo, line);)
      if (line.starts_with("model name"))
        if (const size_t colon = line.find(": "); colon != std::string::npos) return line.substr(colon + 2);
    return "CPU";
  }

  std::shared_ptr<const plugin::CompiledGraph> compile(std::shared_ptr<const ir::Graph> graph,
                                                       const plugin::Config& config) const override {
    return std::make_shared<CpuCompiledGraph>(*graph, config);
  }
};

}  // namespace

std::unique_ptr<plugin::Plugin> make_cpu_plugin() { return std::make_unique<CpuPlugin>(); }

}  // namespace terroir::cpu
