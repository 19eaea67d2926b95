#include "plugins/cpu/nodes/quantized_packing.hpp"

#include "plugins/cpu/isa.hpp"
#include "plugins/cpu/nodes/quantized_weights.hpp"
#include "plugins/cpu/ops.hpp"

namespace terroir::cpu {
namespace {

/// Whether the weights of an output are a row of their constant.
bool has_rows(const NodeContext& context, const ByteProblem& problem) {
  if (!problem.matrix) return !problem.transposed;
  return ir::number_attribute(base_attributes(context.node), "transpose_b") != 0;
}

}  // namespace

PackedWeights pack_weights(const NodeContext& context, const ByteProblem& problem) {
  const bool is_bytes = is_quantized(context.node), pairs = !is_bytes && !is_bf16(context.node),
             rows = has_rows(context, problem);
  const UnitPacking places(problem, pairs);
  const float* const steps = is_bytes ? context.constants[kQuantizedSteps]->view.as<float>() : nullptr;
  Packing packing;
  packing.key = concat(problem.depthwise ? "bytes depthwise"
                       : steps           ? "bytes"
                       : pairs           ? "bf16x3"
                                         : "bf16",
                       steps ? concat(" in ", problem.units.size(), " by ", problem.block) : "", " g", problem.groups,
                       " to ", problem.group_outputs, " by ", problem.row_outputs, " of ", problem.row_inputs, " of ",
                       problem.own_taps());
  if (problem.element > 1 && steps) packing.key += problem.winograd ? " winograd" : " widened";
  if (problem.wide) packing.key += concat(" wide ", problem.position, " by ", problem.taps_of_span);
  for (const ResultAxis& axis : problem.results)
    if (problem.transposed) packing.key += concat(" back ", axis.phases, " of ", axis.kernel);
  if (!rows && !problem.transposed) packing.key += " columns";
  if (steps) packing.with = *context.constants[kQuantizedSteps];
  packing.bytes = places.bytes(problem);
  packing.pieces = static_cast<int64_t>(problem.units.size());
  const int64_t taps = problem.own_taps(), row = problem.row_inputs * taps;
  const WeightStrides strides =
      rows ? WeightStrides{row, taps, 1} : WeightStrides{taps, problem.group_outputs * taps, 1};
  const auto first_output = [problem](int64_t piece) {
    if (piece == static_cast<int64_t>(problem.units.size())) return problem.groups * problem.group_outputs;
    const ByteUnit& unit = problem.units[static_cast<size_t>(piece)];
    return unit.group * problem.group_outputs + problem.first_output(unit);
  };
  if (rows) {
    packing.row_bytes = static_cast<size_t>(row) * sizeof(float);
    packing.first_row = first_output;
  }
  // Those that compute with what is packed, whatever the environment says when that happens.
  const ByteConvKernels* const kernels = byte_conv_kernels(active_byte_products());
  packing.pack = [problem, places, first_output, rows, strides, steps, pairs, kernels](
                     const void* weights, void* packed, int64_t begin, int64_t end) {
    const int64_t first = rows ? first_output(begin) : 0;
    for (int64_t piece = begin; piece < end; ++piece) {
      const ByteUnit& unit = problem.units[static_cast<size_t>(piece)];
      const int64_t output = first_output(piece);
      const int64_t at =
          rows ? (output - first) * strides.output
               : unit.group * problem.row_inputs * strides.input + problem.first_output(unit) * strides.output;
      auto* const bytes = static_cast<int8_t*>(packed);
      const float* const from = static_cast<const float*>(weights) + at;
      if (steps)
        (problem.winograd ? pack_winograd_unit : pack_unit)(
            problem, unit, from, strides, steps + output, bytes + places.weights_at(unit),
            reinterpret_cast<int32_t*>(bytes + places.sums_at(problem, unit)));
      else
        pack_bf16_unit(problem, unit, from, strides, *kernels, pairs, bytes + places.weights_at(unit));
    }
  };
  return context.weights.get(*context.constants[1], std::move(packing));
}

}  // namespace terroir::cpu
