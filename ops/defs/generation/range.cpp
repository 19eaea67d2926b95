// What: numbers from start up to, but not including, stop.
// Formula: y_i = start + i * step for i < max(0, ceil((stop - start) / step)). For an integer output
// type Range-4 first rounds its inputs towards zero.
// Shapes: inputs are scalars (or one element); the output is a vector. Types: Range-1: numeric, all equal; Range-4:
// numeric, the output type is an attribute.
// Edge cases: step 0, infinities and NaN are refused. The quotient of f32 and narrower outputs is that of f32, as on
// OpenVINO's CPU device: of 0, 0.6, 0.2 it is 3, while that of the same numbers in f64 is above 3 and has a last
// element equal to stop. OpenVINO takes that one where it knows the inputs beforehand, so a file that says so is
// followed. Source: operation pages Range-1, Range-4.
#include <cmath>
#include <limits>

#include "ir/base/overflow.hpp"
#include "ops/defs/elementwise/binary.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/numeric.hpp"
#include "ops/reference/parallel.hpp"
#include "ops/shape/inputs.hpp"
#include "ops/shape/number_interval.hpp"
#include "ops/shape/real_range.hpp"

namespace terroir::ops {
namespace {

/// Source: operation page Range-4.
struct Range4Attrs {
  element::Type output_type = element::f32;

  template <class V>
  void visit(V& v) {
    v("output_type", output_type, ir::Presence::required);
  }
};

struct Progression {
  bool integers = true;
  int64_t i_start = 0, i_step = 1;
  double start = 0, step = 1;
  int64_t count = 0;
  int64_t count_in_f64 = 0;  // the same but for rounding
};

int64_t integer_count(int64_t start, int64_t stop, int64_t step) {
  if (step > 0 ? stop <= start : stop >= start) return 0;
  // Of different signs the distance may need 64 bits without sign.
  const uint64_t distance = step > 0 ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                                     : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const uint64_t count = (distance - 1) / stride + 1;
  if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    throw_error(ErrorCode::out_of_memory, "the number of elements ", count, " does not fit 64 bits");
  return static_cast<int64_t>(count);
}

/// (stop - start) / step, in f32 or f64, rounded up, and at least 0.
double real_count(double start, double stop, double step, bool in_f32) {
  const double quotient =
      in_f32 ? static_cast<double>((static_cast<float>(stop) - static_cast<float>(start)) / static_cast<float>(step))
             : (stop - start) / step;
  return std::max(0.0, std::ceil(quotient));
}

Progression progression(const ir::TensorView& start, const ir::TensorView& stop, const ir::TensorView& step,
                        element::Type type) {
  for (const ir::TensorView* view : {&start, &stop, &step})
    if (view->count() != 1)
      throw_error(ErrorCode::shape_mismatch, "start, stop and step must have one element, got shape ", view->dims);
  Progression result;
  result.integers = type.is_integral_number();
  const auto as_integer = [](const ir::TensorView& view) {
    return view.type.is_real() ? reference::saturate<int64_t>(ir::to_reals(view)[0]) : ir::to_integers(view)[0];
  };
  double real[3] = {ir::to_reals(start)[0], ir::to_reals(stop)[0], ir::to_reals(step)[0]};
  for (double value : real)
    if (!std::isfinite(value))
      throw_error(ErrorCode::invalid_argument, "start, stop and step must be finite, got ", value);
  if (result.integers) {
    result.i_start = as_integer(start);
    result.i_step = as_integer(step);
    if (result.i_step == 0) throw_error(ErrorCode::invalid_argument, "step must not be 0");
    result.count = result.count_in_f64 = integer_count(result.i_start, as_integer(stop), result.i_step);
    return result;
  }
  result.start = real[0];
  result.step = real[2];
  if (result.step == 0) throw_error(ErrorCode::invalid_argument, "step must not be 0");
  const double wide = real_count(real[0], real[1], real[2], false);
  const double count = real_count(real[0], real[1], real[2], type != element::f64);
  if (!(std::max(count, wide) < 9e18))
    throw_error(ErrorCode::out_of_memory, "the number of elements ", count, " does not fit 64 bits");
  result.count = static_cast<int64_t>(count);
  result.count_in_f64 = static_cast<int64_t>(wide);
  return result;
}

struct Bounds {
  double low, high;  // may be infinite
};

/// Of the one number of an input, as it is used for an output of the type.
std::optional<Bounds> known_bounds(ir::InferContext& ctx, int input, element::Type type) {
  constexpr double kExact = 4503599627370496;  // 2^52: differences of such integers are exact
  if (!ctx.type(input).is_real()) {
    const auto numbers = known_numbers(ctx, input);
    if (!numbers || numbers->size() != 1 || !numbers->front()) return std::nullopt;
    const NumberInterval number = *numbers->front();
    const Bounds bounds{static_cast<double>(number.low),
                        number.is_bounded() ? static_cast<double>(number.high) : HUGE_VAL};
    return std::abs(bounds.low) < kExact && (bounds.high < kExact || !number.is_bounded()) ? std::optional(bounds)
                                                                                           : std::nullopt;
  }
  const auto ranges = ranges_of(ctx, input);
  if (!ranges || ranges->size() != 1 || !ranges->front() || type.is_dynamic()) return std::nullopt;
  const ir::RealRange range = *ranges->front();
  if (type.is_real()) return Bounds{range.low, range.high};
  return Bounds{std::trunc(range.low), std::trunc(range.high)};
}

/// From what is known of a computed start and stop; the step must be a number.
Dimension length_between(const std::optional<Bounds>& start, const std::optional<Bounds>& stop,
                         const std::optional<Bounds>& step, bool rounds) {
  if (!start || !stop || !step || step->low != step->high || step->low == 0) return {};
  const bool up = step->low > 0;
  const double nearest[] = {up ? start->high : start->low, up ? stop->low : stop->high};
  const double farthest[] = {up ? start->low : start->high, up ? stop->high : stop->low};
  double low = real_count(nearest[0], nearest[1], step->low, false);
  double high = real_count(farthest[0], farthest[1], step->low, false);
  if (rounds) {  // which keeps the order of quotients
    low = std::min(low, real_count(nearest[0], nearest[1], step->low, true));
    high = std::max(high, real_count(farthest[0], farthest[1], step->low, true));
  }
  constexpr double kMost = 9e18;
  if (!(low <= kMost)) return {};
  return {static_cast<int64_t>(low), high <= kMost ? static_cast<int64_t>(high) : -1};
}

Dimension length(ir::InferContext& ctx, element::Type type) {
  const auto start = ctx.value(0);
  const auto step = ctx.value(2);
  if (const auto stop = ctx.value(1); start && stop && step) {
    if (type.is_dynamic()) return {};
    const Progression known = progression(*start, *stop, *step, type);
    const auto declared = ctx.declared(0);
    return declared && declared->shape == PartialShape{known.count_in_f64} ? known.count_in_f64 : known.count;
  }
  if (step && step->type.is_integral_number()) ctx.require(ir::to_integers(*step)[0] != 0, "step must not be 0");
  return length_between(known_bounds(ctx, 0, type), known_bounds(ctx, 1, type), known_bounds(ctx, 2, type),
                        type.is_dynamic() || (type.is_real() && type != element::f64));
}

/// The integers, where start and step are known and so is how many there are.
std::optional<std::vector<Dimension>> elements(ir::InferContext& ctx) {
  constexpr int64_t kMost = 64;
  const Dimension count = length(ctx, element::i64);
  const auto start = known_bounds(ctx, 0, element::i64), step = known_bounds(ctx, 2, element::i64);
  if (count.is_dynamic() || count.get_length() > kMost || !start || !step || !std::isfinite(start->high))
    return std::nullopt;
  std::vector<Dimension> numbers;
  for (int64_t i = 0; i < count.get_length(); ++i) {
    const auto offset = static_cast<double>(i) * step->low;
    numbers.push_back(to_dimension(
        NumberInterval{static_cast<int64_t>(start->low + offset), static_cast<int64_t>(start->high + offset)}));
  }
  return numbers;
}

void infer_range(ir::InferContext& ctx, element::Type type) {
  for (int i = 0; i < 3; ++i) {
    const PartialShape& shape = ctx.shape(i);
    ctx.require(shape.rank().is_dynamic() || shape.size() == 0 || (shape.size() == 1 && shape[0].compatible(1)),
                "input ", i, " must be a scalar, its shape is ", shape);
  }
  ctx.set_output(0, type, PartialShape{length(ctx, type)});
}

void evaluate_range(const ir::EvalContext& ctx) {
  const ir::MutableTensorView& dst = ctx.outputs[0];
  const Progression p = progression(ctx.inputs[0], ctx.inputs[1], ctx.inputs[2], dst.type);
  const int64_t count = dst.count() == p.count_in_f64 ? p.count_in_f64 : p.count;
  require_dims(dst, {count}, "Range");
  reference::dispatch_type<TERROIR_NUMBERS>(dst.type, "Range", [&](auto tag) {
    using T = decltype(tag);
    T* out = dst.as<T>();
    reference::parallel_ranges(count, 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if constexpr (std::is_integral_v<T>) {
          out[i] = static_cast<T>(reference::add(p.i_start, reference::multiply(i, p.i_step)));
        } else {
          out[i] = static_cast<T>(p.start + static_cast<double>(i) * p.step);
        }
      }
    });
  });
}

ir::OpSchema range_schema() {
  ir::OpSchema schema;
  schema.arity = {3, 3, 1};
  schema.reference = &evaluate_range;
  schema.dimensions = &elements;
  return schema;
}

}  // namespace

ir::OpSchema range_1() {
  auto schema = range_schema();
  schema.infer = [](ir::InferContext& ctx) {
    element::Type type = merged_type(ctx, 0, 1);
    ctx.require(element::Type::merge(type, type, ctx.type(2)), "start, stop and step must have one type, got ",
                type.get_type_name(), " and ", ctx.type(2).get_type_name());
    infer_range(ctx, type);
  };
  return schema;
}

ir::OpSchema range_4() {
  auto schema = range_schema();
  schema.make_attributes = &ir::make_attributes<Range4Attrs>;
  schema.infer = [](ir::InferContext& ctx) {
    const element::Type type = ctx.attrs<Range4Attrs>().output_type;
    infer_range(ctx, type);
  };
  return schema;
}

}  // namespace terroir::ops
