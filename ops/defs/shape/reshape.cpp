#include "ops/defs/shape/reshape.hpp"

#include "ir/base/overflow.hpp"
#include "ir/schema/infer_context.hpp"
#include "ops/reference/copy.hpp"
#include "ops/shape/inputs.hpp"
#include "ops/shape/real_range.hpp"

namespace terroir::ops {
namespace {

/// The target while it is being resolved.
struct Target {
  std::vector<Dimension> dims;
  std::vector<bool> copied;        // special zeros: the extent is that of data's same axis, whatever it is
  std::optional<size_t> computed;  // position of -1
};

Target read_numbers(const ir::InferContext& ctx, const std::vector<int64_t>& numbers, bool special_zero) {
  const PartialShape& data = ctx.shape(0);
  Target target;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const int64_t number = numbers[i];
    ctx.require(number >= -1, "shape[", i, "] must be -1 or an extent, got ", number);
    const bool copied = special_zero && number == 0;
    target.copied.push_back(copied);
    if (number == -1) {
      ctx.require(!target.computed, "shape can have one -1, got ", numbers);
      target.computed = i;
      target.dims.push_back(Dimension::dynamic());
    } else if (!copied) {
      target.dims.push_back(number);
    } else if (data.rank().is_dynamic()) {
      target.dims.push_back(Dimension::dynamic());
    } else {
      ctx.require(i < data.size(), "shape[", i, "] is 0 (copy the extent), but data has only rank ", data.size());
      target.dims.push_back(data[static_cast<std::ptrdiff_t>(i)]);
    }
  }
  return target;
}

Target read_dimensions(const ir::InferContext& ctx, const std::vector<Dimension>& known, bool special_zero) {
  const PartialShape& data = ctx.shape(0);
  Target target;
  for (size_t i = 0; i < known.size(); ++i) {
    const bool copied = special_zero && known[i] == Dimension(0);
    target.copied.push_back(copied);
    if (copied) {
      if (data.rank().is_static())
        ctx.require(i < data.size(), "shape[", i, "] is 0 (copy the extent), but data has only rank ", data.size());
      target.dims.push_back(data.rank().is_static() ? data[static_cast<std::ptrdiff_t>(i)] : Dimension::dynamic());
    } else if (known[i].is_dynamic() && known[i].get_min_length() == 0 && special_zero) {
      target.dims.push_back(Dimension::dynamic());  // it may turn out to be a special zero
    } else {
      target.dims.push_back(known[i]);
    }
  }
  // The only unknown extent follows from the number of elements, be it -1 or not.
  std::optional<size_t> unknown;
  for (size_t i = 0; i < target.dims.size(); ++i) {
    if (target.dims[i].is_static() || target.copied[i]) continue;
    if (unknown) return target;
    unknown = i;
  }
  target.computed = unknown;
  return target;
}

/// Replaces the computed extent by what the number of elements says.
void compute_extent(const ir::InferContext& ctx, Target& target, bool exact) {
  const PartialShape& data = ctx.shape(0);
  if (data.rank().is_dynamic()) return;
  // Copied axes are equal on both sides and cancel, so they may be unknown. One without elements leaves none to count:
  // -1 is still computed from the others, but an extent that the run brings may be any.
  for (size_t i = 0; !exact && i < target.copied.size(); ++i)
    if (target.copied[i] && target.dims[i] == Dimension(0)) return;
  std::vector<Dimension> from, to;
  for (size_t i = 0; i < data.size(); ++i)
    if (i >= target.copied.size() || !target.copied[i]) from.push_back(data[static_cast<std::ptrdiff_t>(i)]);
  for (size_t i = 0; i < target.dims.size(); ++i)
    if (i != *target.computed && !target.copied[i]) to.push_back(target.dims[i]);
  const Dimension have = product(from);
  const int64_t others = product(to).get_length();
  Dimension& extent = target.dims[*target.computed];
  if (others == 0) {
    ctx.require(!exact || have.get_min_length() == 0, "-1 cannot be computed: the target ", PartialShape(target.dims),
                " is empty, but data ", data, " is not");
    if (exact) extent = 0;
    return;
  }
  if (have.is_static()) {
    ctx.require(have.get_length() % others == 0, "data ", data, " does not divide into ", PartialShape(target.dims));
    extent = have.get_length() / others;
    return;
  }
  const int64_t low = divide_up(have.get_min_length(), others);
  extent = Dimension(low, have.has_upper_bound() ? std::max(low, have.get_max_length() / others) : -1);
}

void infer_reshape(ir::InferContext& ctx) {
  const bool special_zero = ctx.attrs<ReshapeAttrs>().special_zero;
  require_integer_type(ctx, 1, "shape");
  require_rank(ctx, 1, "shape", 0, 1);
  const PartialShape& data = ctx.shape(0);
  const PartialShape& shape = ctx.shape(1);
  const auto numbers = ctx.integers(1);
  if (shape.rank().is_static() && shape.size() == 0) {
    if (numbers) ctx.require(numbers->front() == 1, "a scalar shape must be 1, got ", numbers->front());
    if (data.is_static())
      ctx.require(product({data.begin(), data.end()}) == 1, "data ", data, " has ", product({data.begin(), data.end()}),
                  " elements, a scalar has 1");
    ctx.set_output(0, ctx.type(0), PartialShape{});
    return;
  }
  Target target;
  if (numbers) {
    target = read_numbers(ctx, *numbers, special_zero);
  } else if (const auto known = ctx.dimensions(1)) {
    target = read_dimensions(ctx, *known, special_zero);
  } else {
    const auto length = known_length(ctx, 1);
    ctx.set_output(0, ctx.type(0), length ? PartialShape::dynamic(*length) : PartialShape::dynamic());
    return;
  }
  if (target.computed) compute_extent(ctx, target, numbers.has_value());
  PartialShape output(target.dims);
  if (output.is_static() && data.is_static())
    ctx.require(product(target.dims) == product({data.begin(), data.end()}), "data ", data, " has ",
                product({data.begin(), data.end()}), " elements, the target ", output, " has ", product(target.dims));
  ctx.set_output(0, ctx.type(0), std::move(output));
}

}  // namespace

ir::OpSchema reshape_1() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<ReshapeAttrs>;
  schema.infer = &infer_reshape;
  schema.reference = &reference::copy;
  schema.dimensions = &same_numbers;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
