#include "ops/defs/sort/search_sorted.hpp"

#include <algorithm>

#include "ops/defs/elementwise/binary.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

void infer_search_sorted(ir::InferContext& ctx) {
  const element::Type type = ctx.attrs<SearchSortedAttrs>().output_type;
  ctx.require(type == element::i32 || type == element::i64, "output_type must be i32 or i64, got ",
              type.get_type_name());
  check_type_class(ctx, 0, TypeClass::number);
  check_type_class(ctx, 1, TypeClass::number);
  merged_type(ctx, 0, 1);
  require_rank(ctx, 0, "sorted", 1, INT64_MAX);
  const PartialShape& sorted = ctx.shape(0);
  PartialShape shape = ctx.shape(1);
  if (sorted.rank().is_static() && sorted.size() > 1) {
    PartialShape wanted = sorted;
    wanted[-1] = Dimension();
    ctx.require(PartialShape::merge_into(shape, wanted), "the outer axes of the sequences ", sorted, " and the values ",
                ctx.shape(1), " differ");
  }
  ctx.set_output(0, type, shape);
}

void evaluate(const ir::EvalContext& ctx) {
  const bool right = ctx.attrs<SearchSortedAttrs>().right_mode;
  const ir::TensorView& sorted = ctx.inputs[0];
  const ir::TensorView& values = ctx.inputs[1];
  const int64_t count = values.count();
  if (count == 0) return;
  const int64_t length = sorted.dims.back();
  const bool shared = sorted.dims.size() == 1;
  const int64_t per_sequence = shared ? count : values.dims.back();
  if (!shared && !std::equal(sorted.dims.begin(), sorted.dims.end() - 1, values.dims.begin(), values.dims.end() - 1))
    throw_error(ErrorCode::shape_mismatch, "SearchSorted: ", values.dims, " values for sequences ", sorted.dims);
  const ir::MutableTensorView& dst = ctx.outputs[0];
  reference::dispatch_type<TERROIR_NUMBERS>(sorted.type, "SearchSorted", [&](auto tag) {
    using T = decltype(tag);
    using C = reference::compute_t<T>;
    const auto less = [](T a, T b) { return static_cast<C>(a) < static_cast<C>(b); };
    for (int64_t i = 0; i < count; ++i) {
      const T* begin = sorted.as<T>() + i / per_sequence * length;
      const T value = values.as<T>()[i];
      const int64_t index = (right ? std::upper_bound(begin, begin + length, value, less)
                                   : std::lower_bound(begin, begin + length, value, less)) -
                            begin;
      if (dst.type == element::i64) {
        dst.as<int64_t>()[i] = index;
      } else {
        dst.as<int32_t>()[i] = static_cast<int32_t>(index);
      }
    }
  });
}

}  // namespace

ir::OpSchema search_sorted_15() {
  ir::OpSchema schema;
  schema.arity = {2, 2, 1};
  schema.make_attributes = &ir::make_attributes<SearchSortedAttrs>;
  schema.infer = &infer_search_sorted;
  schema.reference = &evaluate;
  schema.accuracy = ir::Accuracy::exact;
  return schema;
}

}  // namespace terroir::ops
