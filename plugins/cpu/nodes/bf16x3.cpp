// Convolutions, transposed or not, and products with matrices of constant weights, in f32 on the tiles that multiply
// numbers of bf16: data and weights are each a number of bf16 and another one for what is left, of 16 significant bits
// together. Of their four products the three largest are summed in f32, which is called bf16x3.
// Formula: x = h + r with h the number of bf16 nearest to x and r the one nearest to x - h; x * w is about
//   hx * hw + hx * rw + rx * hw.
// Error: of each product at most 3 * 2^-16 of it, 2^-18 on average: like that of Winograd's algorithm, more than by
//   multiply-add. EXECUTION_MODE_HINT = ACCURACY does without. Where data are infinite, or so large (above 3.39e38)
//   that h is, sums are no numbers; weights must not be. r is 0 where it is subnormal.
// Layouts: those of the other layers of numbers of bf16. Threads: likewise.
#include <algorithm>
#include <atomic>
#include <limits>
#include <optional>
#include <variant>

#include "plugins/cpu/constant_reader.hpp"
#include "plugins/cpu/kernels/conv/conv.hpp"
#include "plugins/cpu/kernels/conv_bytes/conv_bytes.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/nodes/prepared_winograd.hpp"
#include "plugins/cpu/nodes/quantized_convolution.hpp"
#include "plugins/cpu/nodes/quantized_problem.hpp"
#include "plugins/cpu/nodes/quantized_weights.hpp"
#include "plugins/cpu/ops.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

constexpr int64_t kTile = 16;  // positions

/// Tiles of positions of an image.
int64_t tiles_of(const ByteProblem& problem) {
  const ConvAxis &d = problem.axes[0], &h = problem.axes[1], &w = problem.axes[2];
  if (problem.line) return ceil_div(w.out, kTile);
  const int64_t pitch = w.in + 2 * w.pad, by_row = h.out * ceil_div(w.out, kTile);
  const bool joined = w.stride == 1 && h.stride == 1;
  return d.out * (joined ? std::min(by_row, ceil_div((h.out - 1) * pitch + w.out, kTile)) : by_row);
}

/// Numbers under one row of outputs, without the rows beside it.
double numbers_of_row(const ByteProblem& problem) {
  const ConvAxis &d = problem.axes[0], &w = problem.axes[2];
  const int64_t width = problem.gathers ? w.out : (w.out - 1) * w.stride + w.kernel;
  return static_cast<double>(d.kernel * width) * static_cast<double>(problem.position / kBf16Bytes);
}

/// Numbers that are copied for an image: rows between two bands twice.
double copied_numbers(const ByteProblem& problem) {
  const double row = numbers_of_row(problem);
  if (problem.line) return row;
  const ConvAxis &d = problem.axes[0], &h = problem.axes[1];
  const double rows_at_once = static_cast<double>(cache_sizes().l2) / 4 / (row * kBf16Bytes);
  const double band = std::clamp((rows_at_once - static_cast<double>(h.kernel)) / static_cast<double>(h.stride) + 1,
                                 1.0, static_cast<double>(h.out));
  const double beside = std::max<double>(static_cast<double>(h.kernel - h.stride), 0) / band;
  return row * static_cast<double>(d.out * h.out) * (static_cast<double>(h.stride) + beside);
}

/// Nanoseconds of an image, or of the rows of a matrix that belong to one, on one thread. A product of tiles takes 8
/// where a core has its multiplier for itself, and up to 24 where others use it, as on virtual machines.
double time_of(const ByteProblem& problem, double outputs) {
  constexpr double kProduct = 16, kCopied = 0.25, kStored = 0.2;
  const double products = 3 * static_cast<double>(tiles_of(problem) * problem.blocks() * problem.depth() / kTile);
  return products * kProduct + copied_numbers(problem) * kCopied + outputs * kStored;
}

/// Of a matrix its rows, of which each image has so many.
std::optional<ByteProblem> matrix_problem(const NodeContext& context) {
  const ir::Dims &data = context.inputs[0].dims, &weights = context.inputs[1].dims;
  const auto is_one = [](int64_t extent) { return extent == 1; };
  if (weights.size() < 2 || weights.size() > data.size() || !std::all_of(weights.begin(), weights.end() - 2, is_one) ||
      data.size() < 3 || ir::number_attribute(base_attributes(context.node), "transpose_a") != 0)
    return std::nullopt;
  return ByteProblem(ir::element_count(data) / data.front() / data.back(), data.back(), context.outputs[0].dims.back(),
                     kBf16Form);
}

std::optional<ByteProblem> convolution_problem(const ConvProblem& p) {
  for (const ConvAxis& axis : {p.d, p.h, p.w})
    if (axis.dilation != 1 && axis.kernel > 1) return std::nullopt;
  const bool depthwise = p.groups == p.ic && p.groups > 1;
  const int64_t at_once =
      p.groups > 1 ? ByteProblem::groups_at_once(p.groups, p.ic / p.groups, p.oc / p.groups, kBf16Form) : 1;
  if (depthwise || at_once == 0 || (p.transposed && at_once != 1)) return std::nullopt;
  ByteProblem problem(p, kBf16Form);
  if (problem.gathers_well(true, true)) problem.gather();
  // Tables of places in a window have 32 bits.
  constexpr double kMost = std::numeric_limits<int32_t>::max() / 4;
  const bool fits = numbers_of_row(problem) * static_cast<double>(p.h.kernel) <= kMost;
  return problem.position < kByteBlock || !fits ? std::nullopt : std::optional(std::move(problem));
}

/// Whether none becomes infinite, or is.
bool round_to_numbers(const NodeContext& context) {
  const ir::TensorView& weights = context.constants[1]->view;
  const auto* const values = weights.as<float>();
  if (!context.reader) return round_to_bf16_numbers(values, weights.count());
  constexpr int64_t kPiece = int64_t{1} << 16;
  static_assert(kPiece * sizeof(float) <= ConstantReader::kMostBytes);
  std::atomic<bool> all = true;
  context.reader->arena().parallel_for_slots(ceil_div(weights.count(), kPiece), [&](int64_t piece, int64_t slot) {
    const int64_t first = piece * kPiece, count = std::min(kPiece, weights.count() - first);
    const void* const read = context.reader->read(values + first, static_cast<size_t>(count) * sizeof(float), slot);
    if (!round_to_bf16_numbers(static_cast<const float*>(read), count)) all = false;
  });
  return all;
}

/// A problem, unless there are no kernels for it.
std::variant<ByteProblem, Reject> form_of(const NodeContext& context) {
  if (context.isa != Isa::avx512 || active_byte_products() != ByteProducts::avx512_amx)
    return Reject{"there are no products of bf16"};
  if (!context.constants[1] || context.inputs[0].type != element::f32 || context.inputs[1].type != element::f32 ||
      context.outputs[0].type != element::f32)
    return Reject{"only f32, and constant weights"};
  if (context.inputs[0].count() == 0 || context.outputs[0].count() == 0 || context.inputs[1].count() == 0)
    return Reject{"no elements"};
  const bool is_matmul = base_schema(context.node).type == "MatMul";
  auto problem = is_matmul ? matrix_problem(context) : convolution_problem(conv_problem(context));
  if (!problem) return Reject{"few channels, groups or dilations, or rows each of which may be an image"};
  return std::move(*problem);
}

Proposal propose(const NodeContext& context) {
  if (context.accuracy) return Reject{"EXECUTION_MODE_HINT is ACCURACY"};
  const auto form = form_of(context);
  if (const auto* reject = std::get_if<Reject>(&form)) return *reject;
  const auto& problem = std::get<ByteProblem>(form);
  // Less is not worth it.
  constexpr double kLeastProducts = 2e6, kFlopsPerNs = 165;
  const auto images = static_cast<double>(context.inputs[0].dims[0]);
  const double outputs = static_cast<double>(context.outputs[0].count()) / images;
  const double products = problem.matrix ? outputs * static_cast<double>(problem.row_inputs)
                                         : static_cast<double>(conv_flops(conv_problem(context))) / images / 2;
  if (products < kLeastProducts) return Reject{"too small"};
  if (!round_to_numbers(context)) return Reject{"some weights are infinite as numbers of bf16"};
  LayoutChoice choice = byte_layouts(context);
  // As long as direct kernels would take for so many.
  choice.cost = images * compute_ns(kFlopsPerNs * time_of(problem, outputs), context.isa);
  return std::vector{std::move(choice)};
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice& choice) {
  const auto form = form_of(context);
  if (std::holds_alternative<Reject>(form) || choice.inputs[0] != byte_layouts(context).inputs[0])
    refuse_stored_choice(context);
  return create_on_bytes(context, choice);
}

constexpr Impl kBf16x3[] = {{"bf16x3", &propose, &create}};

}  // namespace

std::span<const Impl> bf16x3_impls() { return kBf16x3; }

}  // namespace terroir::cpu
