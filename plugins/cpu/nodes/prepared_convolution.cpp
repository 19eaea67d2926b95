#include "plugins/cpu/nodes/prepared_convolution.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/conv/dense.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/lines_ahead.hpp"

namespace terroir::cpu {
namespace {

const float* values_of(const ir::Constant* bias) { return bias ? bias->view.as<float>() : nullptr; }

Packing packing_for(const ConvKernel& kernel, const ConvPlan& plan, const ir::Constant* bias_constant) {
  const float* bias = values_of(bias_constant);
  const ConvPacking p = packing_of(plan);
  Packing packing;
  packing.key = concat(kernel.packing, ' ', p.block, 'x', p.oc_blocks, " g", p.groups, " i", p.ic, " o", p.oc, " k",
                       p.kd, 'x', p.kh, 'x', p.kw, " by ", p.inner, " s", p.stride);
  if (p.transposed) packing.key += concat(" transposed p", plan.exec.h.pad);
  // The packing is known by the bias's address, which nothing else may get while the packing is being made.
  if (bias_constant) packing.with = *bias_constant;
  packing.bytes = plan.packed_floats * sizeof(float);
  packing.pieces = kernel.pack_pieces(plan);
  // Pieces that are units of outputs.
  if (kernel.pack_pieces == conv::pack_dense_pieces && !p.transposed) {
    packing.row_bytes = static_cast<size_t>(p.ic / p.groups * p.kd * p.kh * p.kw) * sizeof(float);
    packing.first_row = [plan](int64_t piece) { return conv::dense_first_output(plan, piece); };
  }
  packing.pack = [&kernel, plan, bias, first_output = packing.first_row](const void* weights, void* packed,
                                                                         int64_t begin, int64_t end) {
    kernel.pack(plan, kernel, {static_cast<const float*>(weights), bias, first_output ? first_output(begin) : 0},
                static_cast<float*>(packed), begin, end);
  };
  return packing;
}

}  // namespace

Layout layout_of(ConvFormat format, int rank, Isa isa) {
  switch (format) {
    case ConvFormat::plain:
      return Layout::plain(rank);
    case ConvFormat::nhwc:
      return Layout::channels_last(rank);
    case ConvFormat::blocked:
      return Layout::blocked(rank, static_cast<int>(channel_block(isa)));
  }
  return {};
}

const ConvKernel* find_conv_kernel(const ConvProblem& problem, Isa isa, ConvFormat src, ConvFormat dst) {
  for (const ConvKernel& kernel : conv_kernels(isa))
    if (kernel.src == src && kernel.dst == dst && !kernel.reject(problem, kernel)) return &kernel;
  return nullptr;
}

const ConvKernel* find_image_kernel(const ConvProblem& problem, Isa isa) {
  constexpr int64_t kImagePlanes = 4;
  const bool flat = problem.d.in == 1 && problem.d.out == 1 && problem.d.kernel == 1;
  if (!flat || problem.ic > kImagePlanes) return nullptr;
  for (const ConvKernel& kernel : conv_kernels(isa))
    if (kernel.src == ConvFormat::plain && kernel.dst == ConvFormat::blocked && kernel.plan == conv::plan_dense &&
        !kernel.reject(problem, kernel))
      return &kernel;
  return nullptr;
}

PreparedConvolution::PreparedConvolution(const NodeContext& context, const ConvKernel& conv_kernel,
                                         const ConvProblem& problem)
    : kernel(conv_kernel), chain(context, leading_bias(context) ? 1 : 0, channel_block(context.isa)) {
  kernel.plan(problem, kernel, plan);
  const ir::Constant* bias_constant = leading_bias(context);
  if (bias_constant) bias_owner = bias_constant->owner;
  if (context.constants[1])
    packed = context.weights.get(*context.constants[1], packing_for(kernel, plan, bias_constant));
  else
    bias = values_of(bias_constant);
}

void PreparedConvolution::for_each_slice(const RunArgs& args, const ConvArgs& whole,
                                         FunctionRef<void(ConvArgs& conv, const ConvTile& box, int64_t slot)> run,
                                         int64_t first_unit) const noexcept {
  ConvPlan units = plan;
  units.grid.oc -= first_unit;
  const ConvSplit split = conv_split(units, args.arena.threads());
  args.arena.parallel_for_slots(split.count(), [&](int64_t slice, int64_t slot) {
    const int64_t per_part = split.per_part();
    LinesAhead ahead(args, slice / per_part, 1, slice % per_part, per_part);
    ConvArgs conv = whole;
    conv.scratch = args.slots.of<float>(slot);
    conv.oc_ahead = conv_oc_ahead(units, split, slice) + first_unit;
    conv.ahead = ahead.get();
    ConvTile box = conv_slice(units, split, slice);
    box.oc0 += first_unit;
    box.oc1 += first_unit;
    run(conv, box, slot);
  });
}

SlotNeed PreparedConvolution::slot_need(int threads) const noexcept {
  return {whole_lines(plan.scratch_floats) * sizeof(float),
          static_cast<size_t>(std::min<int64_t>(threads, conv_split(plan, threads).count()))};
}

FirstConstants PreparedConvolution::first_constants(int threads, int64_t slice) const noexcept {
  const ConvSplit split = conv_split(plan, threads);
  return slice < split.part_count() ? first_constants(conv_part(plan, split, slice)) : FirstConstants{};
}

FirstConstants PreparedConvolution::first_constants(const ConvTile& box) const noexcept {
  if (!packed || kernel.plan != conv::plan_dense) return {};
  const ConvProblem& e = plan.exec;
  const bool all = e.batch * e.d.out * e.h.out * e.w.out == 1;
  const auto [begin, count] = conv_weights_of(plan, box.oc0, all ? box.oc1 : box.oc0 + 1);
  const auto bytes = std::as_bytes(std::span(packed->as<float>() + begin, static_cast<size_t>(count)));
  return {all ? bytes : bytes.first(std::min(bytes.size(), kSomeBytesAhead)), all};
}

}  // namespace terroir::cpu
