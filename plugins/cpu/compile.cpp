#include "plugins/cpu/compile.hpp"

#include <algorithm>
#include <cmath>

#include "ir/base/error.hpp"
#include "ir/base/machine_memory.hpp"
#include "ir/graph/infer.hpp"
#include "ir/graph/memory.hpp"
#include "ir/pass/pass_manager.hpp"
#include "ir/text/printer.hpp"
#include "ops/defs/control_flow/body_inference.hpp"
#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "plugins/cpu/constant_reader.hpp"
#include "plugins/cpu/passes/build_plan.hpp"
#include "plugins/cpu/passes/compress_products.hpp"
#include "plugins/cpu/passes/fuse_attention.hpp"
#include "plugins/cpu/passes/fuse_convolution_chains.hpp"
#include "plugins/cpu/passes/fuse_elementwise.hpp"
#include "plugins/cpu/passes/fuse_post_ops.hpp"
#include "plugins/cpu/passes/fuse_rms_norm.hpp"
#include "plugins/cpu/passes/layouts.hpp"
#include "plugins/cpu/passes/narrow_products.hpp"
#include "plugins/cpu/passes/quantize_convolutions.hpp"
#include "plugins/cpu/passes/repeat_constants.hpp"
#include "plugins/cpu/stored_plan.hpp"

namespace terroir::cpu {
namespace {

ir::PassManager portable_passes(bool keeps_compressed, ops::CroppedKernels* kernels = nullptr) {
  const ir::OpRegistry& registry = ops::builtin_registry();
  ir::PassManager passes;
  passes.add(ops::lower_terroir1_convolution(registry));
  passes.add(ops::decompose_einsum(registry));
  passes.add(ops::remove_no_ops());  // before constants are copied through them
  passes.add(ops::gather_compressed_rows());
  passes.add(ops::fold_constants(registry, keeps_compressed ? &nodes_of_compressed_weights : nullptr));
  passes.add(ops::collapse_quantize_dequantize(registry));  // before its scales go into convolutions
  passes.add(ops::scatter_whole_rows(registry));
  passes.add(ops::decompose_batch_norm(registry));
  passes.add(ops::fold_scale_into_convolution(registry));  // before some convolutions are scales themselves
  passes.add(ops::convert_depthwise_to_multiply(registry));
  passes.add(ops::collapse_mvn(registry));
  passes.add(ops::collapse_group_normalization(registry));
  passes.add(ops::collapse_gates(registry));
  const std::vector<ir::Pass> moves = {ops::remove_no_ops(),
                                       ops::fuse_transposes(registry),
                                       ops::sink_transposes(registry),
                                       ops::fold_scale_into_convolution(registry),
                                       ops::merge_convolutions(registry),
                                       ops::fold_channels_into_convolution(registry)};
  passes.add_until_stable(moves);
  // What only some extents allow comes behind what all do: the same is left then, whenever they are known.
  std::vector<ir::Pass> all = moves;
  all.push_back(ops::fold_pads());
  all.push_back(ops::crop_kernels(registry, kernels));
  all.push_back(ops::convert_depthwise_to_multiply(registry));
  passes.add_until_stable(std::move(all));
  return passes;
}

/// Parameters take the extents of this plan's inputs; everything is inferred anew.
void bind_shapes(ir::Graph& graph, const std::vector<ir::Dims>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    ir::Node& parameter = graph.node(graph.parameters()[i]);
    auto attrs = parameter.attrs<ir::ParameterAttrs>();
    attrs.shape = PartialShape(ir::to_shape(inputs[i]));
    parameter.attributes = ir::make_attributes_of(std::move(attrs));
  }
  ir::infer_again(graph);
}

std::string text_with_layouts(const ir::Graph& graph, const Decisions& decisions) {
  ir::PrintOptions options;
  options.annotate_value = [&](const ir::Graph&, ir::Value value) { return layout_of(decisions, value).name(); };
  options.annotate_node = [&](const ir::Graph&, ir::NodeId id) { return std::string(decisions.at(id).impl->name); };
  return ir::to_text(graph, options);
}

/// All but the packing, for which the executors have asked.
std::unique_ptr<Plan> unpacked_plan(std::unique_ptr<ir::Graph> graph, WeightsCache& weights,
                                    const CompileOptions& options, const parallel::Arena& arena, bool keep) {
  weights.expect(*graph);
  ir::PassManager passes;
  passes.add(compress_products(cpu_ops()));
  passes.add(repeat_constants(ops::builtin_registry()));
  passes.add(fuse_attention(cpu_ops()));
  passes.add(fuse_rms_norm(cpu_ops()));
  if (options.bytes) passes.add(quantize_convolutions(cpu_ops(), ops::builtin_registry(), weights.steps(), &arena));
  if (options.bf16) passes.add(narrow_products(cpu_ops()));
  passes.add(fuse_post_ops(cpu_ops(), ChainBases::with_own_store));
  if (options.bytes) passes.add(quantize_stores());
  if (options.bf16) passes.add(narrow_stores(cpu_ops()));
  passes.add(fuse_elementwise(cpu_ops()));
  passes.add(fuse_post_ops(cpu_ops(), ChainBases::elementwise));
  passes.add(fuse_convolution_chains(cpu_ops(), options.isa, weights, options.accuracy));
  passes.run(*graph);

  ConstantReader reader(arena);
  Decisions decisions = assign_layouts(*graph, options.isa, weights, options.accuracy, &reader);
  insert_reorders(*graph, decisions, cpu_ops());
  auto plan = build_plan(*graph, decisions, options.isa, weights, options.threads);
  if (options.graph_text) plan->graph_text = text_with_layouts(*graph, decisions);
  if (keep) plan->source = keep_source(std::move(graph), std::move(decisions), plan->only_packed);
  return plan;
}

}  // namespace

const CpuOps& cpu_ops() {
  static const CpuOps ops(ops::builtin_registry());
  return ops;
}

std::unique_ptr<ir::Graph> rewrite_portable(const ir::Graph& graph, bool keeps_compressed) {
  const ir::OpRegistry& registry = ops::builtin_registry();
  auto copy = graph.clone();
  // What passes find out about a body must be true of what comes in.
  for (const ir::NodeId id : copy->nodes())
    if (!copy->node(id).bodies.empty()) ops::fit_bodies(*copy, id);
  ir::PassManager loops;  // first, because bodies keep their types
  loops.add(ops::collapse_recurrent_loop(registry));
  loops.run(*copy);
  if (ops::inline_single_iterations(*copy, registry) > 0) ir::infer_again(*copy);
  ops::widen_floats(*copy, registry);
  portable_passes(keeps_compressed).run(*copy);
  for (const ir::NodeId id : copy->nodes())
    for (ir::Body& body : copy->node(id).bodies) body.graph = rewrite_portable(*body.graph, keeps_compressed);
  return copy;
}

std::unique_ptr<ir::Graph> bound_graph(std::unique_ptr<ir::Graph> graph, const std::vector<ir::Dims>& inputs,
                                       ops::CroppedKernels* kernels) {
  bind_shapes(*graph, inputs);
  if (ops::inline_single_iterations(*graph, ops::builtin_registry()) > 0) ir::infer_again(*graph);
  // Sizes are known now, and patterns that waited for a shape: the plan must be that of the model with these extents.
  portable_passes(true, kernels).run(*graph);
  // What only extents are asked of is gone.
  ir::require_tensors_fit(*graph, ir::machine_memory());
  return graph;
}

plugin::Footprint footprint_of(const Plan& plan, size_t packed) {
  return {plan.constant_bytes, packed, plan.arena_bytes};
}

void require_room(const plugin::Footprint& needs, const CompileOptions& options) {
  const uint64_t bytes = needs.peak(options.requests);
  if (options.memory_limit == 0 || bytes <= options.memory_limit) return;
  const auto mega = [](uint64_t n) {
    return n < 100000 ? concat(n, " bytes") : concat(std::round(static_cast<double>(n) / 1e5) / 10, " MB");
  };
  throw_error(ErrorCode::out_of_memory, "the model needs ", mega(bytes), ": ", mega(needs.weights), " of constants, ",
              mega(needs.packed), " of packed weights and ", options.requests, " x ", mega(needs.arena_per_request),
              " for the activations of each request; MEMORY_LIMIT is ", mega(options.memory_limit),
              ": raise it, use fewer streams (NUM_STREAMS) or smaller inputs (Model::reshape)");
}

void look_ahead(Plan& plan, int threads) {
  constexpr size_t kSteps = 5;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    auto& ahead = plan.steps[i].ahead;
    ahead.resize(static_cast<size_t>(threads));
    for (size_t next = i + 1; next < std::min(plan.steps.size(), i + kSteps); ++next) {
      const Executor& executor = *plan.steps[next].executor;
      const FirstConstants first = executor.first_constants(threads, 0);
      if (first.bytes.empty()) continue;
      for (int slice = 0; slice < threads; ++slice)
        ahead[static_cast<size_t>(slice)].push_back(executor.first_constants(threads, slice));
      if (!first.all) break;
    }
  }
}

std::unique_ptr<Plan> compile_plan(std::unique_ptr<ir::Graph> graph, WeightsCache& weights,
                                   const CompileOptions& options, const parallel::Arena& arena, bool keep,
                                   StageCache* others) {
  auto spare = options.memory_limit > 0 && !options.accuracy ? graph->clone() : nullptr;
  auto plan = unpacked_plan(std::move(graph), weights, options, arena, keep);
  const auto exceeds = [&](size_t packed) {
    return options.memory_limit > 0 && footprint_of(*plan, packed).peak(options.requests) > options.memory_limit;
  };
  // What else is packed must not decide: neither whether there is a result nor its bits.
  if (spare && exceeds(plan->packed_bytes)) {
    plan.reset();  // what it has asked to be packed is forgotten
    CompileOptions lean = options;
    lean.accuracy = true;
    plan = unpacked_plan(std::move(spare), weights, lean, arena, keep);
  }
  spare.reset();  // constants go as they are packed
  require_room(footprint_of(*plan, plan->packed_bytes), options);
  while (others && exceeds(weights.bytes()) && others->evict_one()) {
  }
  weights.pack(arena);
  look_ahead(*plan, options.threads);
  return plan;
}

}  // namespace terroir::cpu
