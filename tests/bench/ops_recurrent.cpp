// Recurrent layers: sequences and single cells.
#include "tests/bench/ops.hpp"

namespace terroir::bench {
namespace {

constexpr size_t kBatch = 1, kSteps = 128, kInput = 256, kHidden = 256;

OpRow sequence(const char* type, size_t gates, bool cell_state, const char* direction, size_t batch) {
  const size_t directions = std::string(direction) == "bidirectional" ? 2 : 1;
  std::vector<OpOperand> operands{tensor({batch, kSteps, kInput}), tensor({batch, directions, kHidden})};
  if (cell_state) operands.push_back(tensor({batch, directions, kHidden}));
  operands.push_back(same({batch}, kSteps, element::i32));
  operands.push_back(weights({directions, gates * kHidden, kInput}));
  operands.push_back(weights({directions, gates * kHidden, kHidden}));
  operands.push_back(weights({directions, gates * kHidden}));
  const double flops = 2.0 * static_cast<double>(batch * directions * kSteps * gates * kHidden * (kInput + kHidden));
  return {std::string(type) + "/" + direction + "_batch" + std::to_string(batch), type,     "opset5",
          {{"direction", direction}, {"hidden_size", std::to_string(kHidden)}},   operands, flops};
}

OpRow cell(const char* type, const char* opset, size_t gates, bool cell_state) {
  std::vector<OpOperand> operands{tensor({kBatch, kInput}), tensor({kBatch, kHidden})};
  if (cell_state) operands.push_back(tensor({kBatch, kHidden}));
  operands.push_back(weights({gates * kHidden, kInput}));
  operands.push_back(weights({gates * kHidden, kHidden}));
  operands.push_back(weights({gates * kHidden}));
  return {type,     type,
          opset,    {{"hidden_size", std::to_string(kHidden)}},
          operands, 2.0 * static_cast<double>(gates * kHidden * (kInput + kHidden))};
}

}  // namespace

OpRows recurrent_rows() {
  OpRows rows{cell("LSTMCell", "opset4", 4, true), cell("GRUCell", "opset3", 3, false),
              cell("RNNCell", "opset1", 1, false)};
  for (const size_t batch : {size_t{1}, size_t{16}})
    for (const char* direction : {"forward", "bidirectional"}) {
      rows.push_back(sequence("LSTMSequence", 4, true, direction, batch));
      rows.push_back(sequence("GRUSequence", 3, false, direction, batch));
      rows.push_back(sequence("RNNSequence", 1, false, direction, batch));
    }
  return rows;
}

}  // namespace terroir::bench
