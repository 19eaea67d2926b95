#include "plugins/cpu/plugin.hpp"

#include <algorithm>
#include <fstream>
#include <list>
#include <map>
#include <string_view>
#include <vector>

#include "ir/base/element_memory.hpp"
#include "ir/base/error.hpp"
#include "ir/base/function_ref.hpp"
#include "ir/base/log.hpp"
#include "ir/pass/disabled_passes.hpp"
#include "ops/reference/control_flow/run_bodies.hpp"
#include "ops/reference/parallel.hpp"
#include "plugins/cpu/frontier_plans.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/kernels/boxes/boxes.hpp"
#include "plugins/cpu/program.hpp"
#include "plugins/cpu/run.hpp"
#include "plugins/cpu/runtime_graph.hpp"
#include "plugins/cpu/stored_plan.hpp"
#include "runtime/plugin/stored_model.hpp"
#include "runtime/plugin/threading.hpp"

namespace terroir::cpu {
namespace {

/// What of the machine plans depend on.
std::string machine() {
  const CacheSizes& caches = cache_sizes();
  return concat(isa_name(active_isa()), " with caches of ", caches.l1d, ", ", caches.l2, " and ", caches.l3, " bytes",
                separate_add_pipes() ? ", pipes for additions" : "",
                ", products of bytes: ", byte_products_name(active_byte_products()));
}

/// What profiles call an operation's reference.
std::string kernel_of_reference(const ir::OpSchema& operation, Isa isa) {
  const std::vector<const Impl*> impls = impls_for(operation);
  const auto has = [&](std::string_view name) {
    return std::any_of(impls.begin(), impls.end(), [&](const Impl* impl) { return impl->name == name; });
  };
  if (has("box_suppression") && box_kernels(isa)) return concat("box_suppression__", isa_name(isa));
  return has("threaded") ? "threaded:any" : "ref:any";
}

/// What the requests of a compiled model run.
struct CompiledProgram {
  CompiledProgram(std::unique_ptr<ir::Graph> rewritten, const CompileOptions& options, size_t cache_bytes)
      : common{options, {}, StageCache(cache_bytes)}, program(std::move(rewritten), common) {}
  /// Of one plan, which an archive holds.
  CompiledProgram(plugin::Archive& archive, const ir::OpRegistry& operations, const CompileOptions& options)
      : common{options, {}, StageCache(0)}, program(load_stage(archive, operations, common), common) {}

  static std::shared_ptr<const Stage> load_stage(plugin::Archive& archive, const ir::OpRegistry& operations,
                                                 Common& common) {
    auto stage = std::make_shared<Stage>();
    stage->plan = load_plan(archive, operations, common.weights, common.options);
    return stage;
  }

  std::string type_of(const std::string& layer) const {
    const auto found = types.find(layer);
    return found == types.end() ? std::string() : found->second;
  }

  /// As far as it is known: of unknown extents only what has been packed.
  plugin::Footprint footprint() const {
    if (const Plan* plan = program.only_plan()) return footprint_of(*plan, common.weights.bytes());
    return {0, common.weights.bytes(), 0};
  }

  Common common;
  Program program;
  StepTimes times;                           // only of profiled inferences
  std::map<std::string, std::string> types;  // by name, the operations of layers that profiles call fused
};

/// The states of the plans that a request ran last.
class PlanStates {
 public:
  static constexpr size_t kMaxStates = 8;

  PlanState& get(const std::shared_ptr<const Plan>& plan, const parallel::Arena& threads) {
    for (auto it = states_.begin(); it != states_.end(); ++it) {
      if (&it->plan() != plan.get()) continue;
      states_.splice(states_.begin(), states_, it);
      return *it;
    }
    // Plans that nobody else keeps any more have left the cache.
    std::erase_if(states_, [](const PlanState& state) { return state.shared_plan().use_count() == 1; });
    states_.emplace_front(plan, threads, memory_);
    if (states_.size() > kMaxStates) states_.pop_back();
    return states_.front();
  }

 private:
  std::shared_ptr<ActivationMemory> memory_ = std::make_shared<ActivationMemory>();
  std::list<PlanState> states_;
};

class CpuRequest final : public plugin::RequestState {
 public:
  CpuRequest(std::shared_ptr<CompiledProgram> compiled, bool profiling)
      : compiled_(std::move(compiled)), profiling_(profiling) {}

  void infer(std::span<const ir::TensorView> inputs, plugin::OutputBinder& outputs,
             const plugin::RunContext& context) override {
    profile_.clear();
    if (!last_ || !same_shapes(inputs)) {
      dims_.clear();
      for (const ir::TensorView& input : inputs) dims_.push_back(input.dims);
      last_.reset();  // if compiling fails, there is none
      last_ = compiled_->program.stage(dims_, context.arena);
    }
    run(
        *last_, inputs,
        [&outputs](size_t i, element::Type type, const ir::Dims& dims) { return outputs.bind(i, type, dims); },
        context);
  }

  std::vector<ProfilingInfo> profiling() const override {
    std::vector<ProfilingInfo> infos;
    for (const ProfiledRun& run : profile_) {
      if (!run.plan) {
        const auto time = std::chrono::duration_cast<std::chrono::microseconds>(run.times.front());
        infos.push_back({ProfilingInfo::Status::EXECUTED, time, time, run.name, run.kernel, run.type, ""});
      }
      for (size_t i = 0; run.plan && i < run.times.size(); ++i) {
        const Step& step = run.plan->steps[i];
        const auto time = std::chrono::duration_cast<std::chrono::microseconds>(run.times[i]);
        infos.push_back({ProfilingInfo::Status::EXECUTED, time, time, step.name, step.kernel, step.type, step.details});
        for (const std::string& name : step.origin_names)
          infos.push_back({ProfilingInfo::Status::OPTIMIZED_OUT,
                           {},
                           {},
                           name,
                           "fused into " + step.name,
                           compiled_->type_of(name),
                           ""});
      }
    }
    return infos;
  }

  void release_memory() override {
    states_ = {};
    frontier_ = {};
    last_.reset();
    memory_.clear();
  }

 private:
  /// A plan, or an operation between two plans.
  struct ProfiledRun {
    std::shared_ptr<const Plan> plan;
    std::vector<std::chrono::nanoseconds> times;  // by step of the plan
    std::string name, type, kernel;               // without a plan
    int32_t line = 0;                             // of the model's file, the same
  };

  /// Memory for result `i` of a stage.
  using Sink = FunctionRef<void*(size_t i, element::Type type, const ir::Dims& dims)>;

  bool same_shapes(std::span<const ir::TensorView> inputs) const {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].dims != dims_[i]) return false;
    return true;
  }

  void run(const Stage& stage, std::span<const ir::TensorView> inputs, Sink sink, const plugin::RunContext& context) {
    PlanState& state = states_.get(stage.plan, context.arena);
    for (size_t i = 0; i < inputs.size(); ++i) state.bind_input(i, inputs[i].data);
    if (stage.then) return run_then(*stage.then, state, inputs, sink, context);
    const std::vector<TensorDesc>& results = stage.plan->outputs;
    for (size_t i = 0; i < results.size(); ++i) state.bind_output(i, sink(i, results[i].type, results[i].dims));
    run_plan(state, context);
  }

  void run_then(const Continuation& then, PlanState& state, std::span<const ir::TensorView> inputs, Sink sink,
                const plugin::RunContext& context) {
    const std::vector<TensorDesc>& results = state.plan().outputs;
    for (size_t i = 0; i < then.results_before.size(); ++i)
      state.bind_output(i, sink(then.results_before[i], results[i].type, results[i].dims));
    std::vector<ir::Constant> boundary;
    size_t computed_by_plan = then.results_before.size();
    for (const int input : then.boundary) {
      if (input != Continuation::kComputed) {
        boundary.push_back({inputs[static_cast<size_t>(input)], nullptr});  // outlives the run
        continue;
      }
      const TensorDesc& result = results[computed_by_plan];
      auto buffer = memory_.get(result.type, result.count());
      state.bind_output(computed_by_plan++, buffer.get());
      boundary.push_back({{result.type, result.dims, buffer.get()}, buffer});
    }
    run_plan(state, context);
    if (context.cancelled.load(std::memory_order_relaxed)) return;

    std::vector<std::vector<ir::Constant>> computed;
    for (size_t i = 0; i < then.frontier.size(); ++i) {
      const ir::Node& node = then.graph->node(then.frontier[i]);
      std::vector<ir::Constant> values;
      for (size_t input = 0; input < node.inputs.size(); ++input) {
        const int index = then.frontier_inputs[i][input];
        values.push_back(index < 0 ? *ir::constant_of(*then.graph, node.inputs[input])
                                   : boundary[static_cast<size_t>(index)]);
      }
      const auto result = [&](size_t output, element::Type type, const ir::Dims& extents) -> void* {
        const auto shown = result_of(then, i, output);
        return shown == then.results_of_frontier.end() ? nullptr : sink(shown->result, type, extents);
      };
      if (node.bodies.empty())
        computed.push_back(run_frontier(node, values, result, context));
      else
        computed.push_back(run_control_flow(node, then.bodies[i], values, context));
      if (context.cancelled.load(std::memory_order_relaxed)) return;
    }
    for (auto shown = then.results_of_frontier.begin(); shown != then.results_of_frontier.end(); ++shown) {
      if (shown == result_of(then, shown->index, shown->output)) continue;  // it is where it was computed
      const ir::TensorView& value = computed[shown->index][shown->output].view;
      copy_elements(value.type, sink(shown->result, value.type, value.dims), value.data, value.bytes());
    }
    if (then.results_after.empty()) return;
    std::vector<ir::TensorView> rest_inputs;
    std::vector<ir::Dims> dims;
    for (const RestInput& source : then.rest_inputs) {
      rest_inputs.push_back(source.from_frontier ? computed[source.index][source.output].view
                                                 : boundary[source.index].view);
      dims.push_back(rest_inputs.back().dims);
    }
    const auto mapped = [&](size_t i, element::Type type, const ir::Dims& extents) {
      return sink(then.results_after[i], type, extents);
    };
    run(*then.rest->stage(dims, context.arena), rest_inputs, mapped, context);
  }

  /// The first result of the model that is this output of a frontier op.
  static std::vector<FrontierResult>::const_iterator result_of(const Continuation& then, size_t index, size_t output) {
    return std::find_if(then.results_of_frontier.begin(), then.results_of_frontier.end(),
                        [&](const FrontierResult& shown) { return shown.index == index && shown.output == output; });
  }

  std::vector<ir::Constant> run_frontier(const ir::Node& node, const std::vector<ir::Constant>& values,
                                         ResultMemory memory_of_result, const plugin::RunContext& context) {
    const auto& [plan, given] = frontier_.get(node, values, compiled_->common, context.arena);
    if (!plan) return run_reference(node, values, memory_of_result, context);
    PlanState& state = states_.get(plan, context.arena);
    for (size_t i = 0; i < given.size(); ++i) state.bind_input(i, values[given[i]].view.data);
    std::vector<ir::Constant> results;
    for (const TensorDesc& result : plan->outputs) {
      const size_t i = results.size();
      void* data = memory_of_result(i, result.type, result.dims);
      const auto buffer = data ? nullptr : memory_.get(result.type, result.count());
      if (buffer) data = buffer.get();
      state.bind_output(i, data);
      results.push_back({{result.type, result.dims, data}, buffer});
    }
    run_plan(state, context);
    return results;
  }

  std::vector<ir::Constant> run_reference(const ir::Node& node, const std::vector<ir::Constant>& values,
                                          ResultMemory memory_of_result, const plugin::RunContext& context) {
    const auto begin = std::chrono::steady_clock::now();
    std::vector<ir::Constant> results =
        run_frontier_op(node, values, compiled_->common.options.isa, context.arena, memory_, memory_of_result);
    if (!profiling_) return results;
    const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - begin;
    // The body of a loop runs again and again: one entry with the sum. Another body may have a layer of that name.
    const auto known = std::find_if(profile_.begin(), profile_.end(), [&](const ProfiledRun& run) {
      return !run.plan && run.name == node.name && run.line == node.origin.line;
    });
    if (known == profile_.end())
      profile_.push_back({nullptr,
                          {time},
                          node.name,
                          node.schema->type,
                          kernel_of_reference(*node.schema, compiled_->common.options.isa),
                          node.origin.line});
    else
      known->times.front() += time;
    return results;
  }

  std::vector<ir::Constant> run_control_flow(const ir::Node& node, std::span<const std::shared_ptr<Program>> bodies,
                                             std::span<const ir::Constant> inputs, const plugin::RunContext& context) {
    std::vector<ir::TensorView> views;
    for (const ir::Constant& input : inputs) views.push_back(input.view);
    const auto run_body = [&](size_t body, std::span<const ir::TensorView> arguments) {
      std::vector<ir::Dims> dims;
      for (const ir::TensorView& argument : arguments) dims.push_back(argument.dims);
      std::vector<ir::Constant> results(node.bodies[body].graph->results().size());
      const auto allocate = [&](size_t i, element::Type type, const ir::Dims& extents) -> void* {
        auto buffer = memory_.get(type, ir::element_count(extents));
        void* data = buffer.get();
        results[i] = {{type, extents, data}, std::move(buffer)};
        return data;
      };
      run(*bodies[body]->stage(dims, context.arena), arguments, allocate, context);
      if (context.cancelled.load(std::memory_order_relaxed)) results.clear();
      return results;
    };
    return with_context([&] { return node.describe(); },
                        [&] { return ops::reference::run_bodies(node, views, run_body); });
  }

  void run_plan(PlanState& state, const plugin::RunContext& context) {
    if (!profiling_) return state.run(context.arena, context.cancelled, nullptr);
    std::vector<std::chrono::nanoseconds> times(state.plan().steps.size());
    state.run(context.arena, context.cancelled, times.data());
    if (!context.cancelled.load(std::memory_order_relaxed)) compiled_->times.add(state.shared_plan(), times);
    // The body of a loop runs again and again: one entry with the sum.
    const auto known = std::find_if(profile_.begin(), profile_.end(),
                                    [&](const ProfiledRun& run) { return run.plan == state.shared_plan(); });
    if (known == profile_.end())
      profile_.push_back({state.shared_plan(), std::move(times), {}, {}, {}});
    else
      for (size_t i = 0; i < times.size(); ++i) known->times[i] += times[i];
  }

  std::shared_ptr<CompiledProgram> compiled_;
  bool profiling_;
  std::shared_ptr<const Stage> last_;
  std::vector<ir::Dims> dims_;  // of last_
  PlanStates states_;
  FrontierPlans frontier_;
  SpareBuffers memory_;
  std::vector<ProfiledRun> profile_;
};

/// Every op with a fast kernel has a reference, too: without one, or bodies, it cannot run in any way.
void require_runnable(const ir::Graph& graph) {
  for (ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    for (const ir::Body& body : node.bodies) require_runnable(*body.graph);
    if (node.bodies.empty() && !node.schema->reference && !node.constant && !node.is(ir::kParameterType))
      throw_error(ErrorCode::not_implemented, node.describe(), ": the CPU device cannot run ",
                  node.schema->display_name(), " yet");
  }
}

/// Kernels are chosen by types.
void require_known_types(const ir::Graph& graph) {
  for (const ir::NodeId id : graph.parameters())
    if (graph.port({id, 0}).type.is_dynamic() && !graph.uses({id, 0}).empty())
      throw_error(ErrorCode::invalid_argument, graph.node(id).describe(),
                  ": the element type of this input is not known; set it before compiling, by "
                  "Parameter::set_element_type() or PrePostProcessor");
}

/// The operations of layers of the model as it was given, those of bodies included: of all, or of those that `fused`
/// has, in order.
void add_types(const ir::Graph& graph, const std::vector<std::string_view>* fused,
               std::map<std::string, std::string>& types) {
  for (const ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    if (!fused || std::binary_search(fused->begin(), fused->end(), std::string_view(node.name)))
      types.emplace(node.name, node.schema->type);
    for (const ir::Body& body : node.bodies) add_types(*body.graph, fused, types);
  }
}

bool has_bf16_products() { return has_products_of_bf16(active_byte_products()); }

/// What a compiled model tells of its settings: floating-point layers compute in f32 unless numbers of bf16 were asked
/// for where there are products of them.
plugin::Config as_computed(plugin::Config config) {
  const bool bf16 = config.inference_precision == element::bf16 && has_bf16_products();
  config.inference_precision = bf16 ? element::bf16 : element::f32;
  return config;
}

class CpuCompiledGraph final : public plugin::CompiledGraph {
 public:
  CpuCompiledGraph(const ir::Graph& graph, const plugin::Config& config)
      : CompiledGraph(graph, "CPU", as_computed(config), plugin::thread_budget(config)) {
    require_runnable(graph);
    require_known_types(graph);
    const parallel::Arena arena = compilation_arena();
    const auto shared_out = [&](int64_t tasks, FunctionRef<void(int64_t)> body) { arena.parallel_for(tasks, body); };
    const ops::reference::LentThreads lend(shared_out);  // where constants are folded
    // Weights in floats are what layers in bf16 are made of.
    compile(rewrite_portable(graph, !options().bf16), arena);
    // Also where nobody asks for profiles: who imports the model may.
    const Plan* plan = compiled_->program.only_plan();
    std::vector<std::string_view> fused;
    for (size_t i = 0; plan && i < plan->steps.size(); ++i)
      fused.insert(fused.end(), plan->steps[i].origin_names.begin(), plan->steps[i].origin_names.end());
    std::sort(fused.begin(), fused.end());
    add_types(graph, plan ? &fused : nullptr, compiled_->types);
  }

  CpuCompiledGraph(plugin::StoredFace face, plugin::Archive& archive, const plugin::Config& config,
                   const ir::OpRegistry& operations)
      : CompiledGraph(std::move(face.name), "CPU", as_computed(config), plugin::thread_budget(config),
                      std::move(face.inputs), std::move(face.outputs)) {
    std::map<std::string, std::string> types;
    archive.content().list([&] {
      std::string name = archive.content().text();
      return types.emplace(std::move(name), archive.content().text()).second;
    });
    if (archive.content().flag()) {
      compiled_ = std::make_shared<CompiledProgram>(archive, operations, options());
      require_room(footprint(), options());
    } else {
      compile(plugin::load_graph(archive, operations), compilation_arena());
    }
    compiled_->types = std::move(types);
  }

  std::unique_ptr<plugin::RequestState> create_request() const override {
    return std::make_unique<CpuRequest>(compiled_, config().profiling);
  }

  std::unique_ptr<ir::Graph> runtime_graph() const override {
    return cpu::runtime_graph(*this, compiled_->program, compiled_->times);
  }

  plugin::Footprint footprint() const override { return compiled_->footprint(); }

  void save(plugin::ArchiveWriter& archive) const override {
    const Plan* plan = compiled_->program.only_plan();
    archive.content().text(machine());
    plugin::store_face(*this, archive.content());
    archive.content().list(compiled_->types, [&](const auto& layer) {
      archive.content().text(layer.first);
      archive.content().text(layer.second);
    });
    archive.content().put(static_cast<uint8_t>(plan != nullptr));
    if (plan)
      store_plan(*plan->source, compiled_->common.weights, archive);
    else
      plugin::store_graph(*compiled_->program.rewritten(), archive);
  }

 private:
  CompileOptions options() const {
    CompileOptions options;
    options.isa = active_isa();
    options.threads = threading().threads_per_stream;
    options.requests = threading().streams;
    options.memory_limit = config().memory_limit;
    options.accuracy = config().execution_mode == hint::ExecutionMode::ACCURACY;
    options.bytes = active_byte_products() != ByteProducts::none && !options.accuracy;
    options.bf16 = config().inference_precision == element::bf16;
    options.graph_text = log_enabled(LogCategory::pass);
    return options;
  }

  /// Nothing runs yet, so all the threads that the streams will share are free.
  parallel::Arena compilation_arena() const {
    const int most = config().compilation_threads > 0 ? config().compilation_threads
                                                      : threading().streams * threading().threads_per_stream;
    return {std::min(most, plugin::thread_budget(config())), config().executor};
  }

  void compile(std::unique_ptr<ir::Graph> rewritten, const parallel::Arena& arena) {
    compiled_ = std::make_shared<CompiledProgram>(std::move(rewritten), options(), config().plan_cache_bytes);
    std::vector<ir::Dims> dims;
    for (const plugin::PortInfo& input : inputs()) {
      if (input.shape.is_dynamic()) return;  // stages are made when shapes are known
      dims.push_back(ir::to_dims(input.shape.to_shape()));
    }
    const auto stage = compiled_->program.only_stage(dims, arena);
    if (!stage->plan->graph_text.empty()) log_line(LogCategory::pass, stage->plan->graph_text);
  }

  std::shared_ptr<CompiledProgram> compiled_;
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

  std::vector<std::string> capabilities() const override {
    std::vector<std::string> all = {device::capability::FP32, device::capability::INT8, device::capability::BIN,
                                    device::capability::WINOGRAD, device::capability::EXPORT_IMPORT};
    if (has_bf16_products()) all.insert(all.begin() + 1, device::capability::BF16);
    return all;
  }

  std::shared_ptr<const plugin::CompiledGraph> compile(std::shared_ptr<const ir::Graph> graph,
                                                       const plugin::Config& config) const override {
    return std::make_shared<CpuCompiledGraph>(*graph, config);
  }

  std::shared_ptr<const plugin::CompiledGraph> load(plugin::Archive& archive, const plugin::Config& config,
                                                    const ir::OpRegistry& operations) const override {
    if (const std::string made_for = archive.content().text(); made_for != machine())
      throw_error(ErrorCode::unsupported, "it was compiled for ", made_for, ", this is ", machine(),
                  ": compile the model anew");
    plugin::StoredFace face = plugin::load_face(archive.content());
    return std::make_shared<CpuCompiledGraph>(std::move(face), archive, config, operations);
  }

  std::string fingerprint() const override {
    return concat(device_name(), ' ', machine(), " without ", ir::disabled_passes());
  }
};

}  // namespace

std::unique_ptr<plugin::Plugin> make_cpu_plugin() { return std::make_unique<CpuPlugin>(); }

}  // namespace terroir::cpu
