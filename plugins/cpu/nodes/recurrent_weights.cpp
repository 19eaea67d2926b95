#include "plugins/cpu/nodes/recurrent_weights.hpp"

#include <algorithm>

#include "ir/base/error.hpp"
#include "ops/defs/sequence/recurrent.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {

using ops::reference::Direction;

RecurrentShape::RecurrentShape(const NodeContext& context, int64_t panel_columns)
    : params(ops::recurrent_params(context.node)), sequence(context.inputs[0].rank() == 3), panel(panel_columns) {
  const ir::Dims& dims = context.inputs[0].dims;
  batch = dims[0];
  times = sequence ? dims[1] : 1;
  inputs = dims.back();
  size = params.hidden_size;
  directions = sequence ? params.directions() : 1;
  gates = params.gates();
  first_gates = resets_before() ? 2 : gates;
  blocks = ceil_div(size, panel);

  const auto count = static_cast<int>(context.inputs.size());
  int next = 2;
  if (params.kind == CellKind::lstm) ports.c = next++;
  if (sequence) ports.lengths = next++;
  ports.w = next++;
  ports.r = next++;
  if (next < count) ports.b = next++;
  if (next < count) ports.p = next++;
}

bool RecurrentShape::backwards(int64_t direction) const {
  return sequence && (params.direction == Direction::reverse || direction == 1);
}

namespace {

std::array<int64_t, 4> order_of(const RecurrentParams& params) {
  return params.kind == CellKind::lstm ? params.gate_order : std::array<int64_t, 4>{0, 1, 2, 3};
}

}  // namespace

PackGates::PackGates(const RecurrentShape& shape, const MatmulKernels& kernels, bool of_state)
    : kernels_(&kernels),
      directions_(shape.directions),
      blocks_(shape.blocks),
      gates_(shape.gates),
      first_gates_(of_state ? shape.first_gates : shape.gates),
      size_(shape.size),
      depth_(of_state ? shape.size : shape.inputs),
      order_(order_of(shape.params)) {}

void PackGates::operator()(const float* weights, float* packed, int64_t piece) const noexcept {
  const int64_t gate = piece % gates_, block = piece / gates_ % blocks_, direction = piece / gates_ / blocks_;
  const int64_t panel = kernels_->panel, unit = block * panel;
  const int64_t row = (direction * gates_ + order_[static_cast<size_t>(gate)]) * size_ + unit;
  const int64_t place =
      gate < first_gates_ ? block * first_gates_ + gate : blocks_ * first_gates_ + block * (gates_ - first_gates_);
  kernels_->pack_b(weights + row * depth_, depth_, true, depth_, std::min(panel, size_ - unit),
                   packed + (direction * blocks_ * gates_ + place) * panel * depth_, 0, 1);
}

Packing PackGates::packing() const {
  Packing packing;
  packing.key = concat("gates ", kernels_->panel, ' ', directions_, 'x', gates_, '/', first_gates_, 'x', size_, 'x',
                       depth_, " order ", order_[0], order_[1], order_[2], order_[3]);
  packing.bytes = static_cast<size_t>(pieces() * kernels_->panel * depth_) * sizeof(float);
  packing.pieces = pieces();
  packing.pack = [pack = *this](const void* weights, void* packed, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) pack(static_cast<const float*>(weights), static_cast<float*>(packed), i);
  };
  return packing;
}

void lay_out_biases(const RecurrentShape& shape, const float* b, float* dst) noexcept {
  std::fill_n(dst, shape.b_floats(), 0.0f);
  if (b == nullptr) return;
  const std::array<int64_t, 4> order = order_of(shape.params);
  const int64_t sets = shape.params.biases();
  // Behind those of the gates: what linear_before_reset adds to the product of the state with Rn.
  for (int64_t direction = 0; direction < shape.directions; ++direction)
    for (int64_t set = 0; set < sets; ++set) {
      const bool of_state = set >= shape.gates;
      const int64_t gate = of_state ? shape.gates - 1 : set;
      const int64_t from = of_state ? set : order[static_cast<size_t>(gate)];
      float* to = dst + ((of_state ? shape.directions : 0) + direction) * shape.width() + gate * shape.panel;
      for (int64_t unit = 0; unit < shape.size; ++unit)
        to[unit / shape.panel * shape.gates * shape.panel + unit % shape.panel] =
            b[(direction * sets + from) * shape.size + unit];
    }
}

void lay_out_peepholes(const RecurrentShape& shape, const float* p, float* dst) noexcept {
  for (int64_t row = 0; row < 3 * shape.directions; ++row) {
    std::copy_n(p + row * shape.size, shape.size, dst + row * shape.padded());
    std::fill_n(dst + row * shape.padded() + shape.size, shape.padded() - shape.size, 0.0f);
  }
}

}  // namespace terroir::cpu
