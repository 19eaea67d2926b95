#include "ops/reference/sequence/recurrent.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/floats.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

constexpr const char* kRecurrent = "recurrent layer";

using Floats = std::vector<float>;

using Kind = GateActivation::Kind;

struct Gate : GateActivation {
  float operator()(float x) const {
    switch (kind) {
      case Kind::sigmoid:
        return 1.0f / (1.0f + std::exp(-x));
      case Kind::tanh:
        return std::tanh(x);
      case Kind::relu:
        return x < 0 ? 0.0f : x;
      default:
        return std::max(0.0f, std::min(1.0f, alpha * x + beta));
    }
  }
};

Kind kind_of(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name == "sigmoid") return Kind::sigmoid;
  if (name == "tanh") return Kind::tanh;
  if (name == "relu") return Kind::relu;
  if (name == "hardsigmoid") return Kind::hard_sigmoid;
  throw_error(ErrorCode::unsupported, "activations must be sigmoid, tanh, relu or hardsigmoid, got '", name, "'");
}

/// Weights of one direction; biases and peepholes may be missing.
struct Weights {
  const float* w;
  const float* r;
  const float* b = nullptr;
  const float* p = nullptr;
};

class Cell {
 public:
  Cell(const RecurrentParams& params, int64_t input_size)
      : params_(params), size_(params.hidden_size), in_(input_size) {
    for (const GateActivation& activation : activations_of(params)) activations_.push_back({activation});
  }

  /// One step: h (and c) become the next ones.
  void step(const Weights& weights, const float* x, Floats& h, Floats& c) const {
    switch (params_.kind) {
      case CellKind::rnn:
        return step_rnn(weights, x, h);
      case CellKind::gru:
        return step_gru(weights, x, h);
      default:
        return step_lstm(weights, x, h, c);
    }
  }

 private:
  static float dot(const float* a, const float* b, int64_t count) {
    float sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
    return sum;
  }
  float from_input(const Weights& weights, int64_t row, const float* x) const {
    return dot(weights.w + row * in_, x, in_);
  }
  float from_state(const Weights& weights, int64_t row, const Floats& h) const {
    return dot(weights.r + row * size_, h.data(), size_);
  }
  static float bias(const Weights& weights, int64_t row) { return weights.b ? weights.b[row] : 0.0f; }
  float clipped(float x) const {
    const auto limit = static_cast<float>(params_.clip);
    return limit > 0 ? std::max(-limit, std::min(limit, x)) : x;
  }

  void step_rnn(const Weights& weights, const float* x, Floats& h) const {
    Floats next(h.size());
    for (int64_t k = 0; k < size_; ++k)
      next[static_cast<size_t>(k)] =
          activations_[0](clipped(from_input(weights, k, x) + from_state(weights, k, h) + bias(weights, k)));
    h = std::move(next);
  }

  // Gates in the order z, r, h.
  void step_gru(const Weights& weights, const float* x, Floats& h) const {
    Floats update(h.size()), reset(h.size()), damped(h.size());
    for (int64_t k = 0; k < size_; ++k) {
      const auto at = static_cast<size_t>(k);
      const auto gate = [&](int64_t row) {
        return activations_[0](clipped(from_input(weights, row, x) + from_state(weights, row, h) + bias(weights, row)));
      };
      update[at] = gate(k);
      reset[at] = gate(size_ + k);
      damped[at] = reset[at] * h[at];
    }
    Floats next(h.size());
    for (int64_t k = 0; k < size_; ++k) {
      const auto at = static_cast<size_t>(k);
      const int64_t row = 2 * size_ + k;
      const float state = params_.linear_before_reset
                              ? reset[at] * (from_state(weights, row, h) + bias(weights, row + size_))
                              : from_state(weights, row, damped);
      const float candidate = activations_[1](clipped(from_input(weights, row, x) + state + bias(weights, row)));
      next[at] = (1.0f - update[at]) * candidate + update[at] * h[at];
    }
    h = std::move(next);
  }

  void step_lstm(const Weights& weights, const float* x, Floats& h, Floats& c) const {
    Floats next(h.size());
    for (int64_t k = 0; k < size_; ++k) {
      const auto at = static_cast<size_t>(k);
      const auto sum = [&](size_t gate) {
        const int64_t row = params_.gate_order[gate] * size_ + k;
        return from_input(weights, row, x) + from_state(weights, row, h) + bias(weights, row);
      };
      // Peepholes in the order i, o, f.
      const auto peephole = [&](int64_t gate, float cell) {
        return weights.p ? weights.p[gate * size_ + k] * cell : 0.0f;
      };
      const float forget = activations_[0](clipped(sum(0) + peephole(2, c[at])));
      const float input = params_.input_forget ? 1.0f - forget : activations_[0](clipped(sum(1) + peephole(0, c[at])));
      c[at] = forget * c[at] + input * activations_[1](clipped(sum(2)));
      next[at] = activations_[0](clipped(sum(3) + peephole(1, c[at]))) * activations_[2](c[at]);
    }
    h = std::move(next);
  }

  const RecurrentParams& params_;
  int64_t size_, in_;
  std::vector<Gate> activations_;
};

/// The inputs as floats, in the order of the ops; counts are checked here.
struct Operands {
  Floats x, h, c, w, r, b, p;
  std::vector<int64_t> lengths;
  int64_t batch, times, input_size;

  Operands(const ir::EvalContext& ctx, const RecurrentParams& params, bool sequence) {
    const ir::Dims& dims = ctx.inputs[0].dims;
    const int64_t directions = sequence ? params.directions() : 1;
    if (dims.size() != (sequence ? 3u : 2u)) throw_error(ErrorCode::shape_mismatch, kRecurrent, ": X has shape ", dims);
    batch = dims[0];
    times = sequence ? dims[1] : 1;
    input_size = dims.back();
    size_t next = 0;
    const int64_t size = params.hidden_size;
    const auto read = [&](const ir::Dims& wanted) {
      const ir::TensorView& tensor = ctx.inputs[next];
      if (tensor.count() != ir::element_count(wanted))
        throw_error(ErrorCode::shape_mismatch, kRecurrent, ": input ", next, " has shape ", tensor.dims, ", but ",
                    wanted, " is needed");
      return to_floats(ctx.inputs[next++]);
    };
    x = read({batch, times, input_size});
    h = read({batch, directions, size});
    if (params.kind == CellKind::lstm) c = read({batch, directions, size});
    if (sequence) {
      lengths = ir::to_integers(ctx.inputs[next++]);
      if (static_cast<int64_t>(lengths.size()) != batch)
        throw_error(ErrorCode::shape_mismatch, kRecurrent, ": ", lengths.size(), " sequence_lengths for ", batch,
                    " items");
      for (const int64_t length : lengths)
        if (length < 0 || length > times)
          throw_error(ErrorCode::invalid_argument, kRecurrent, ": sequence_lengths must be in [0, ", times, "], got ",
                      length);
    }
    w = read({directions, params.gates() * size, input_size});
    r = read({directions, params.gates() * size, size});
    if (next < ctx.inputs.size()) b = read({directions, params.biases() * size});
    if (next < ctx.inputs.size()) p = read({directions, 3 * size});
  }

  Weights of(int64_t direction, const RecurrentParams& params) const {
    const int64_t rows = params.gates() * params.hidden_size;
    return {w.data() + direction * rows * input_size, r.data() + direction * rows * params.hidden_size,
            b.empty() ? nullptr : b.data() + direction * params.biases() * params.hidden_size,
            p.empty() ? nullptr : p.data() + direction * 3 * params.hidden_size};
  }
};

/// Row `index` of a tensor of rows of hidden_size.
Floats row_of(const Floats& values, int64_t index, int64_t size) {
  if (values.empty()) return Floats(static_cast<size_t>(size));
  return Floats(values.begin() + index * size, values.begin() + (index + 1) * size);
}

void put_row(const Floats& row, Floats& values, int64_t index) {
  std::copy(row.begin(), row.end(), values.begin() + index * static_cast<int64_t>(row.size()));
}

}  // namespace

void check_activation(const std::string& name) { kind_of(name); }

std::vector<GateActivation> activations_of(const RecurrentParams& params) {
  constexpr float kAlpha = 0.2f, kBeta = 0.5f;  // where the model gives none
  std::vector<GateActivation> result;
  for (size_t i = 0; i < params.functions(); ++i)
    result.push_back({kind_of(params.activations[i]),
                      i < params.activations_alpha.size() ? static_cast<float>(params.activations_alpha[i]) : kAlpha,
                      i < params.activations_beta.size() ? static_cast<float>(params.activations_beta[i]) : kBeta});
  return result;
}

void recurrent_cell(const ir::EvalContext& ctx, const RecurrentParams& params) {
  Operands operands(ctx, params, false);
  const Cell cell(params, operands.input_size);
  const int64_t size = params.hidden_size;
  for (const ir::MutableTensorView& output : ctx.outputs) require_dims(output, {operands.batch, size}, kRecurrent);
  Floats last_h(static_cast<size_t>(operands.batch * size)), last_c(last_h.size());
  for (int64_t n = 0; n < operands.batch; ++n) {
    Floats h = row_of(operands.h, n, size), c = row_of(operands.c, n, size);
    cell.step(operands.of(0, params), operands.x.data() + n * operands.input_size, h, c);
    put_row(h, last_h, n);
    put_row(c, last_c, n);
  }
  from_floats(last_h, ctx.outputs[0], kRecurrent);
  if (params.kind == CellKind::lstm) from_floats(last_c, ctx.outputs[1], kRecurrent);
}

void recurrent_sequence(const ir::EvalContext& ctx, const RecurrentParams& params) {
  Operands operands(ctx, params, true);
  const Cell cell(params, operands.input_size);
  const int64_t size = params.hidden_size, directions = params.directions();
  require_dims(ctx.outputs[0], {operands.batch, directions, operands.times, size}, kRecurrent);
  for (size_t i = 1; i < ctx.outputs.size(); ++i)
    require_dims(ctx.outputs[i], {operands.batch, directions, size}, kRecurrent);
  Floats all(static_cast<size_t>(ctx.outputs[0].count()), 0.0f);
  Floats last_h(static_cast<size_t>(ctx.outputs[1].count())), last_c(last_h.size());
  for (int64_t n = 0; n < operands.batch; ++n) {
    const int64_t length = operands.lengths[static_cast<size_t>(n)];
    for (int64_t d = 0; d < directions; ++d) {
      const bool backwards = params.direction == Direction::reverse || d == 1;
      const int64_t state = n * directions + d;
      Floats h = row_of(operands.h, state, size), c = row_of(operands.c, state, size);
      for (int64_t i = 0; i < length; ++i) {
        const int64_t t = backwards ? length - 1 - i : i;
        cell.step(operands.of(d, params), operands.x.data() + (n * operands.times + t) * operands.input_size, h, c);
        put_row(h, all, state * operands.times + t);
      }
      if (length == 0 && operands.times > 0) continue;
      put_row(h, last_h, state);
      put_row(c, last_c, state);
    }
  }
  from_floats(all, ctx.outputs[0], kRecurrent);
  from_floats(last_h, ctx.outputs[1], kRecurrent);
  if (params.kind == CellKind::lstm) from_floats(last_c, ctx.outputs[2], kRecurrent);
}

}  // namespace terroir::ops::reference
