// Shapes, types, generators, strings, and what hands a value on.
#include "tests/differential/recipes.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

using ir::Value;

void reshape(Draw& d) {
  const Value x = d.data(kAny, 0, 5);
  ir::Dims target = d.dims(x);
  const int64_t count = ir::element_count(target);
  if (d.chance(50) && target.size() > 1) {
    // Two neighbours become one axis.
    const size_t at = d.random().below(target.size() - 1);
    target[at] *= target[at + 1];
    target.erase(target.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  } else if (d.chance(50) && !target.empty()) {
    // An axis becomes two.
    const size_t at = d.random().below(target.size());
    for (const int64_t part : {8, 5, 3, 2})
      if (target[at] % part == 0 && target[at] > part) {
        target[at] /= part;
        target.insert(target.begin() + static_cast<std::ptrdiff_t>(at) + 1, part);
        break;
      }
  } else if (d.chance(50)) {
    target = {count};
  }
  const bool special = d.chance(50);
  const ir::Dims dims = d.dims(x);
  if (special)
    for (size_t i = 0; i < std::min(target.size(), dims.size()) && target[i] == dims[i]; ++i)
      if (d.chance(40)) target[i] = 0;
  if (count > 0 && !target.empty() && d.chance(40)) target[d.random().below(target.size())] = -1;
  d.op({x, d.numbers(target)}, {{"special_zero", special ? "true" : "false"}});
}

void squeeze(Draw& d) {
  ir::Dims dims = d.dims(0, 3);
  std::vector<int64_t> axes;
  for (int64_t ones = d.between(1, 2); ones > 0; --ones) {
    axes.push_back(static_cast<int64_t>(dims.size()));
    dims.push_back(1);
  }
  const Value x = d.like(d.one_of(kAny), dims);
  d.op(d.chance(20) ? std::vector{x} : std::vector{x, d.numbers(axes)});
}

void unsqueeze(Draw& d) {
  const Value x = d.data(kAny, 0, 4);
  std::vector<int64_t> axes = {d.between(0, d.rank(x))};
  if (d.chance(40)) axes.push_back(axes[0] + 1);
  d.op({x, d.numbers(axes)});
}

void convert(Draw& d) {
  static const Types kTo = {element::f32,    element::f16,   element::bf16,    element::f64, element::i32,
                            element::i64,    element::i8,    element::u8,      element::i16, element::u16,
                            element::u32,    element::u64,   element::boolean, element::i4,  element::u4,
                            element::f8e4m3, element::f8e5m2};
  const element::Type to = d.one_of(kTo);
  // Only numbers that the type can hold: what becomes of others is not defined.
  const bool narrow = to.bitwidth() <= 4;
  const Value x = d.exact(kAny, 0, 5, Fill::in(to.is_signed() ? (narrow ? -7 : -60) : 0, narrow ? 7 : 60));
  d.op({x}, {{"destination_type", to.get_type_name()}});
}

void convert_chain(Draw& d) {
  d.op({d.data(kReal, 0, 5)}, {{"destination_type", d.one_of({"f32", "f16", "bf16", "f64"})}});
}

void convert_like(Draw& d) { d.op({d.exact(kNumber, 0, 4, Fill::in(0, 9)), d.data(kNumber, 0, 2)}); }

void promote_types(Draw& d) {
  d.op({d.exact(kNumber, 0, 3, Fill::in(0, 9)), d.exact(kNumber, 0, 3, Fill::in(0, 9))},
       {{"u64_integer_promotion_target", d.one_of({"f32", "f64", "i64"})}});
}

void eye(Draw& d) {
  std::vector<Value> inputs = {d.number(d.extent(17), {}, 40), d.number(d.extent(17), {}, 40),
                               d.number(d.between(-5, 5), {}, 40)};
  if (d.chance(40)) inputs.push_back(d.numbers({d.between(1, 3), d.between(1, 3)}));
  d.op(inputs, {{"output_type", d.one_of(kNumber).get_type_name()}});
}

void multinomial(Draw& d) {
  const ir::Dims dims = {d.between(1, 4), d.between(5, 17)};
  const Value weights = d.fresh(element::f32, dims, Fill::in(0.125, 1));
  d.op({weights, d.number(d.between(1, 5))}, {{"convert_type", d.one_of({"i32", "i64"})},
                                              {"global_seed", "7"},
                                              {"op_seed", std::to_string(d.between(1, 99))}});
}

void one_hot(Draw& d) {
  const int64_t depth = 1 + d.extent(17);
  const Value x = d.fresh(d.one_of(kIndex), d.dims(0, 3), Fill::in(0, static_cast<double>(depth)));
  const element::Type type = d.one_of(kAny);
  const int64_t axis = d.between(-1, d.rank(x));
  d.op({x, d.number(depth), d.weights(type, {}), d.weights(type, {})}, {{"axis", std::to_string(axis)}});
}

void random_uniform(Draw& d) {
  const element::Type type = d.one_of(Types{element::f32, element::f32, element::f16, element::i32, element::i64});
  d.op({d.numbers(d.dims(0, 3)), d.reals({-3}, type, true), d.reals({9}, type, true)},
       {{"output_type", type.get_type_name()},
        {"global_seed", std::to_string(d.between(1, 99))},
        {"op_seed", std::to_string(d.between(1, 99))}});
}

Value one_number(Draw& d, double value, element::Type type) {
  HostTensor host(type, {});
  set_number(host.writable(), 0, value);
  return d.place(std::move(host), 30);
}

void range(Draw& d) {
  const element::Type type = d.one_of(Types{element::i32, element::i64, element::f32, element::f32});
  const double step = type.is_real() ? 0.75 : static_cast<double>(d.between(1, 3));
  const double start = static_cast<double>(d.between(-5, 5)), stop = start + static_cast<double>(d.between(0, 40));
  const bool down = d.chance(30);
  AttributeTexts attributes;
  if (d.schema().opset == "opset4") attributes = {{"output_type", type.get_type_name()}};
  d.op({one_number(d, down ? stop : start, type), one_number(d, down ? start : stop, type),
        one_number(d, down ? -step : step, type)},
       attributes);
}

void pack(Draw& d) {
  const ir::Dims dims = d.dims(0, 2);
  const int64_t bytes = 40;
  HostTensor begins(element::i32, dims), ends(element::i32, dims);
  for (int64_t i = 0; i < begins.view().count(); ++i) {
    const int64_t from = d.below(bytes), to = d.between(from, bytes);
    set_number(begins.writable(), i, static_cast<double>(from));
    set_number(ends.writable(), i, static_cast<double>(to));
  }
  d.op(
      {d.place(std::move(begins), 80), d.place(std::move(ends), 80), d.fresh(element::u8, {bytes}, Fill::in(32, 120))});
}

void bucketize(Draw& d) {
  const Value x = d.exact({element::f32, element::f32, element::i32, element::i64}, 0, 4);
  d.op({x, d.weights(d.type(x), {d.extent(17)}, Fill::in(-2, 2, Fill::Order::ascending))});
}

void search_sorted(Draw& d) {
  const element::Type type = d.one_of(Types{element::f32, element::f32, element::i32, element::i64});
  ir::Dims sorted = d.dims(1, 3), values = sorted;
  values.back() = d.extent(9);
  d.op({d.fresh(type, sorted, Fill::in(-9, 9, Fill::Order::ascending)), d.fresh(type, values, Fill::in(-9, 9))});
}

const RecipeRow kShapeRows[] = {
    {"Reshape-1", reshape},
    {"ShapeOf-1", [](Draw& d) { d.op({d.data(kAny, 0, 5)}); }},
    {"ShapeOf-3", [](Draw& d) { d.op({d.data(kAny, 0, 5)}); }},
    {"Squeeze-1 Squeeze-15", squeeze},
    {"Unsqueeze-1", unsqueeze},
    {"Identity-16", [](Draw& d) { d.op({d.data(kAny, 0, 4)}); }},
    {"Convert-1", [](Draw& d) { d.chance(60) ? convert(d) : convert_chain(d); }},
    {"ConvertLike-1", convert_like},
    {"ConvertPromoteTypes-14", promote_types},
    {"Eye-9", eye},
    {"Multinomial-13", multinomial},
    {"OneHot-1 OneHot-16", one_hot},
    {"RandomUniform-8", random_uniform},
    {"Range-1 Range-4", range},
    {"StringTensorPack-15", pack},
    {"StringTensorUnpack-15", [](Draw& d) { d.op({d.fresh(element::string, d.dims(0, 2))}); }},
    {"Bucketize-3", bucketize},
    {"SearchSorted-15", search_sorted},
};

}  // namespace

std::span<const RecipeRow> shape_recipes() { return kShapeRows; }

}  // namespace terroir::test
