#include "ops/reference/sequence/ctc.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/floats.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

int64_t read_blank(const ir::EvalContext& ctx, size_t input, int64_t classes, const char* op) {
  const int64_t blank = ctx.inputs.size() > input ? read_integer(ctx.inputs[input], "blank_index") : classes - 1;
  if (blank < 0 || blank >= classes)
    throw_error(ErrorCode::invalid_argument, op, ": blank_index must be in [0, ", classes - 1, "], got ", blank);
  return blank;
}

/// Lengths of the items, each in [0, most].
std::vector<int64_t> read_lengths(const ir::TensorView& tensor, int64_t items, int64_t most, const char* op) {
  std::vector<int64_t> lengths = ir::to_integers(tensor);
  if (static_cast<int64_t>(lengths.size()) != items)
    throw_error(ErrorCode::shape_mismatch, op, ": ", lengths.size(), " lengths for ", items, " items");
  for (const int64_t length : lengths)
    if (length < 0 || length > most)
      throw_error(ErrorCode::invalid_argument, op, ": lengths must be in [0, ", most, "], got ", length);
  return lengths;
}

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

/// ln(exp(a) + exp(b))
double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kImpossible ? a : a + std::log1p(std::exp(b - a));
}

std::vector<int64_t> prepare_target(const int64_t* labels, int64_t length, const CtcLossParams& params) {
  std::vector<int64_t> target;
  for (int64_t i = 0; i < length; ++i) {
    const bool seen = std::find(target.begin(), target.end(), labels[i]) != target.end();
    const bool repeated = !target.empty() && target.back() == labels[i];
    if (params.unique ? seen : params.preprocess_collapse_repeated && repeated) continue;
    target.push_back(labels[i]);
  }
  return target;
}

/// ln of the probability of all paths that decode to the target. `log_prob(t, c)` is that of class c at time t.
template <class LogProb>
double log_likelihood(const std::vector<int64_t>& target, int64_t times, int64_t blank, bool merge_repeated,
                      LogProb&& log_prob) {
  // State 2k: k labels are done and the last step was blank (or none yet); 2k - 1: label k was just emitted.
  const size_t states = 2 * target.size() + 1;
  std::vector<double> now(states, kImpossible), next(states);
  now[0] = 0;
  for (int64_t t = 0; t < times; ++t) {
    const double to_blank = log_prob(t, blank);
    for (size_t s = 0; s < states; ++s) {
      if (s % 2 == 0) {
        const double from = s == 0 ? now[0] : log_add(now[s], now[s - 1]);
        next[s] = from + to_blank;
        continue;
      }
      const int64_t label = target[s / 2];
      const bool same = s >= 3 && target[s / 2 - 1] == label;
      double from = now[s - 1];
      // Straight from the label before, which merging would swallow if it is the same.
      if (s >= 3 && !(merge_repeated && same)) from = log_add(from, now[s - 2]);
      if (merge_repeated) from = log_add(from, now[s]);
      next[s] = from + log_prob(t, label);
    }
    std::swap(now, next);
  }
  return states == 1 ? now[0] : log_add(now[states - 1], now[states - 2]);
}

}  // namespace

int64_t best_class(const float* row, int64_t classes) {
  int64_t best = 0;
  for (int64_t c = 1; c < classes; ++c)
    if (row[c] > row[best]) best = c;
  return best;
}

void ctc_greedy_decoder(const ir::EvalContext& ctx, bool merge_repeated, BestClass best) {
  constexpr const char* kOp = "CTCGreedyDecoder";
  const ir::Dims& dims = ctx.inputs[0].dims;
  if (dims.size() != 3 || dims[2] < 1 || ctx.inputs[1].dims != ir::Dims{dims[0], dims[1]})
    throw_error(ErrorCode::shape_mismatch, kOp, ": mask ", ctx.inputs[1].dims, " for data ", dims);
  require_dims(ctx.outputs[0], {dims[1], dims[0], 1, 1}, kOp);
  const int64_t times = dims[0], items = dims[1], classes = dims[2];
  const FloatElements data(ctx.inputs[0]), mask(ctx.inputs[1]);
  std::vector<float> result(static_cast<size_t>(items * times), -1.0f);
  parallel_for(items, [&](int64_t n) {
    auto to = static_cast<size_t>(n * times);
    int64_t before = -1;
    for (int64_t t = 0; t < times && mask[static_cast<size_t>(t * items + n)] != 0; ++t) {
      const int64_t found = best(data.data() + (t * items + n) * classes, classes);
      if (found != classes - 1 && !(merge_repeated && found == before)) result[to++] = static_cast<float>(found);
      before = found;
    }
  });
  from_floats(result, ctx.outputs[0], kOp);
}

void ctc_greedy_decoder_seq_len(const ir::EvalContext& ctx, bool merge_repeated, BestClass best) {
  constexpr const char* kOp = "CTCGreedyDecoderSeqLen";
  const ir::Dims& dims = ctx.inputs[0].dims;
  if (dims.size() != 3 || dims[2] < 1) throw_error(ErrorCode::shape_mismatch, kOp, ": data is ", dims);
  require_dims(ctx.outputs[0], {dims[0], dims[1]}, kOp);
  require_dims(ctx.outputs[1], {dims[0]}, kOp);
  const FloatElements data(ctx.inputs[0]);
  const std::vector<int64_t> lengths = read_lengths(ctx.inputs[1], dims[0], dims[1], kOp);
  const int64_t blank = read_blank(ctx, 2, dims[2], kOp);
  std::vector<int64_t> classes(static_cast<size_t>(dims[0] * dims[1]), -1);
  std::vector<int64_t> counts(static_cast<size_t>(dims[0]));
  parallel_for(dims[0], [&](int64_t n) {
    int64_t count = 0;
    int64_t before = -1;
    for (int64_t t = 0; t < lengths[static_cast<size_t>(n)]; ++t) {
      const int64_t found = best(data.data() + (n * dims[1] + t) * dims[2], dims[2]);
      if (found != blank && !(merge_repeated && found == before))
        classes[static_cast<size_t>(n * dims[1] + count++)] = found;
      before = found;
    }
    counts[static_cast<size_t>(n)] = count;
  });
  from_indices(classes, ctx.outputs[0]);
  from_indices(counts, ctx.outputs[1]);
}

void ctc_loss(const ir::EvalContext& ctx, const CtcLossParams& params) {
  constexpr const char* kOp = "CTCLoss";
  const ir::Dims& dims = ctx.inputs[0].dims;
  if (dims.size() != 3 || dims[2] < 1 || ctx.inputs[2].dims != ir::Dims{dims[0], dims[1]})
    throw_error(ErrorCode::shape_mismatch, kOp, ": labels ", ctx.inputs[2].dims, " for logits ", dims);
  require_dims(ctx.outputs[0], {dims[0]}, kOp);
  const int64_t times = dims[1], classes = dims[2];
  const FloatElements logits(ctx.inputs[0]);
  const std::vector<int64_t> logit_lengths = read_lengths(ctx.inputs[1], dims[0], times, kOp);
  const std::vector<int64_t> labels = ir::to_integers(ctx.inputs[2]);
  const std::vector<int64_t> label_lengths = read_lengths(ctx.inputs[3], dims[0], times, kOp);
  const int64_t blank = read_blank(ctx, 4, classes, kOp);
  std::vector<float> losses(static_cast<size_t>(dims[0]));
  parallel_for(dims[0], [&](int64_t n) {
    const int64_t length = logit_lengths[static_cast<size_t>(n)];
    if (label_lengths[static_cast<size_t>(n)] > length)
      throw_error(ErrorCode::invalid_argument, kOp, ": item ", n, " has ", label_lengths[static_cast<size_t>(n)],
                  " labels for ", length, " steps");
    const auto target = prepare_target(labels.data() + n * times, label_lengths[static_cast<size_t>(n)], params);
    for (const int64_t label : target)
      if (label < 0 || label >= classes)
        throw_error(ErrorCode::invalid_argument, kOp, ": label ", label, " is out of range [0, ", classes - 1, "]");
    // ln of the sum of exponentials, per step, taken relative to the largest so that nothing overflows.
    std::vector<double> norms;
    for (int64_t t = 0; t < length; ++t) {
      const float* row = logits.data() + (n * times + t) * classes;
      const double most = *std::max_element(row, row + classes);
      double sum = 0;
      for (int64_t c = 0; c < classes; ++c) sum += std::exp(row[c] - most);
      norms.push_back(most + std::log(sum));
    }
    const auto log_prob = [&](int64_t t, int64_t c) {
      return logits[static_cast<size_t>((n * times + t) * classes + c)] - norms[static_cast<size_t>(t)];
    };
    losses[static_cast<size_t>(n)] =
        static_cast<float>(-log_likelihood(target, length, blank, params.ctc_merge_repeated, log_prob));
  });
  from_floats(losses, ctx.outputs[0], kOp);
}

}  // namespace terroir::ops::reference
