// What: classes drawn by their probabilities.
// Formula: the first class whose cumulated, normalised probability reaches a random number of [0, 1); without
// replacement the drawn class then has the probability 0.
// Shapes: probabilities [batch, classes], one number of samples -> [batch, samples]. Types: floating point; the number
// is an integer; the output is i32 or i64.
// Edge cases: negative probabilities count as 0; without a positive finite sum it is the last class that may be drawn;
// without replacement there must be as many classes as samples. Random numbers: those of f64 RandomUniform in
// TensorFlow's alignment, other ones in each iteration of a loop.
// Source: operation page Multinomial-13.
#include <algorithm>
#include <cmath>

#include "ops/reference/generation/random.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

struct MultinomialAttrs {
  element::Type convert_type = element::i32;
  bool with_replacement = false;
  bool log_probs = false;
  int64_t global_seed = 0;
  int64_t op_seed = 0;

  template <class V>
  void visit(V& v) {
    v("convert_type", convert_type, ir::Presence::required);
    v("with_replacement", with_replacement, ir::Presence::required);
    v("log_probs", log_probs, ir::Presence::required);
    v("global_seed", global_seed);
    v("op_seed", op_seed);
  }
};

void infer_multinomial(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<MultinomialAttrs>();
  const element::Type type = attrs.convert_type;
  ctx.require(type == element::i32 || type == element::i64, "convert_type must be i32 or i64, got ",
              type.get_type_name());
  require_rank(ctx, 0, "probs", 2, 2);
  Dimension samples;
  if (const auto known = known_integer(ctx, 1, "num_samples")) {
    ctx.require(*known >= 0, "num_samples must not be negative, got ", *known);
    samples = *known;
  } else if (const auto bounds = ctx.dimensions(1); bounds && bounds->size() == 1) {
    samples = bounds->front();
  }
  const PartialShape& probs = ctx.shape(0);
  const bool known_rank = probs.rank().is_static();
  ctx.require(attrs.with_replacement || !known_rank || !probs[1].has_upper_bound() ||
                  samples.get_min_length() <= probs[1].get_max_length(),
              "without replacement num_samples must not exceed the classes, got ", samples, " of ",
              known_rank ? probs[1] : Dimension());
  ctx.set_output(0, type, PartialShape{known_rank ? probs[0] : Dimension(), samples});
}

/// Weight of a class that must not be drawn again.
constexpr double kDrawn = -1;

size_t draw(const std::vector<double>& weights, double random) {
  double sum = 0;
  for (double weight : weights) sum += std::max(weight, 0.0);
  double cumulated = 0;
  size_t last = 0;
  for (size_t c = 0; c < weights.size(); ++c) {
    if (weights[c] == kDrawn) continue;
    last = c;
    cumulated += std::max(weights[c], 0.0);
    if (weights[c] > 0 && random <= cumulated / sum) return c;
  }
  return last;
}

void evaluate_multinomial(const ir::EvalContext& ctx) {
  const auto& attrs = ctx.attrs<MultinomialAttrs>();
  const ir::MutableTensorView& dst = ctx.outputs[0];
  const int64_t samples = read_integer(ctx.inputs[1], "num_samples");
  const ir::Dims& dims = ctx.inputs[0].dims;
  require_dims(dst, {dims.at(0), samples}, "Multinomial");
  const auto classes = static_cast<size_t>(dims.at(1));
  if (dst.count() == 0) return;
  if (classes == 0 || (!attrs.with_replacement && samples > dims[1]))
    throw_error(ErrorCode::invalid_argument, "cannot draw ", samples, " samples of ", classes, " classes");
  const std::vector<double> probs = ir::to_reals(ctx.inputs[0]);
  const reference::RandomWords all_words(reference::RandomAlignment::tensorflow,
                                         static_cast<uint64_t>(attrs.global_seed), static_cast<uint64_t>(attrs.op_seed),
                                         dst.count());
  reference::parallel_for(dims[0], [&](int64_t b) {
    reference::RandomWords words = all_words;
    words.skip(static_cast<uint64_t>(b * samples) * 2);
    const double* const row = &probs[static_cast<size_t>(b) * classes];
    const double most = *std::max_element(row, row + classes);
    const double scale = std::isfinite(most) ? most : 0;  // only proportions matter, and exp(scale) may be infinite
    std::vector<double> weights(classes);
    for (size_t c = 0; c < classes; ++c)
      weights[c] = std::max(attrs.log_probs ? std::exp(row[c] - scale) : row[c], 0.0);
    for (int64_t s = 0; s < samples; ++s) {
      constexpr uint64_t kMantissa = (uint64_t{1} << 52) - 1;
      const double random = std::ldexp(static_cast<double>(words.next_pair() & kMantissa), -52);
      const size_t drawn = draw(weights, random);
      if (!attrs.with_replacement) weights[drawn] = kDrawn;
      const int64_t at = b * samples + s;
      if (dst.type == element::i64) {
        dst.as<int64_t>()[at] = static_cast<int64_t>(drawn);
      } else {
        dst.as<int32_t>()[at] = static_cast<int32_t>(drawn);
      }
    }
  });
}

}  // namespace

ir::OpSchema multinomial_13() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<MultinomialAttrs>;
  schema.infer = &infer_multinomial;
  schema.reference = &evaluate_multinomial;
  schema.accuracy = ir::Accuracy::random;
  schema.flags.pure = false;
  return schema;
}

}  // namespace terroir::ops
