// MatMul in f32 of constant weights that takes part of its multiplications as additions: a 1x1 convolution over the
// rows, whose channels come last; see kernels/conv_paired/paired.hpp. Taken where the processor has pipes of their own
// for additions, and the weights allow it.
#include <algorithm>
#include <numeric>
#include <optional>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/conv_paired/paired.hpp"
#include "plugins/cpu/nodes/matmul.hpp"
#include "plugins/cpu/nodes/paired_executor.hpp"
#include "plugins/cpu/nodes/prepared_winograd.hpp"

namespace terroir::cpu {
namespace {

// Null unless the rows of the first operand meet one matrix. `one_image`: those alone that are not told apart by the
// first axis, for choices that must not depend on the batch.
std::optional<ConvProblem> as_convolution(const NodeContext& context, bool one_image) {
  const ir::Attributes& attributes = base_attributes(context.node);
  const ir::Dims &a = context.inputs[0].dims, &b = context.inputs[1].dims;
  if (a.size() < 2 || b.size() < 2 || ir::number_attribute(attributes, "transpose_a") != 0) return std::nullopt;
  if (std::any_of(b.begin(), b.end() - 2, [](int64_t extent) { return extent != 1; })) return std::nullopt;
  ConvProblem p;
  p.transposed = ir::number_attribute(attributes, "transpose_b") == 0;
  p.ic = a.back();
  p.oc = b[b.size() - (p.transposed ? 1 : 2)];
  p.w.in = p.w.out = std::accumulate(a.begin() + (one_image ? 1 : 0), a.end() - 1, int64_t{1}, std::multiplies<>());
  return p;
}

Proposal propose(const NodeContext& context) {
  const std::optional<ConvProblem> problem = as_convolution(context, true);
  if (!problem) return Reject{"rows are columns, or they meet different matrices"};
  const auto offer = paired_offer(context, *problem, paired_kernel(context.isa, ConvFormat::nhwc));
  if (const auto* refusal = std::get_if<Reject>(&offer)) return *refusal;
  Proposal direct = propose_matmul(context);
  if (auto* const choices = std::get_if<std::vector<LayoutChoice>>(&direct))
    for (LayoutChoice& choice : *choices) choice.cost /= std::get<double>(offer);
  return direct;
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  const ConvKernel* const kernel = paired_kernel(context.isa, ConvFormat::nhwc);
  if (!kernel) refuse_stored_choice(context);
  return paired_executor(context, *as_convolution(context, false), *kernel,
                         concat("f32_gemm_paired__", isa_name(context.isa)));
}

constexpr Impl kPaired[] = {{"paired_matmul", &propose, &create}};

}  // namespace

std::span<const Impl> paired_matmul_impls() { return kPaired; }

}  // namespace terroir::cpu
