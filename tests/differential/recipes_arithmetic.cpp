// Products, reductions, normalisations, order and quantisation.
#include <algorithm>
#include <cmath>

#include "tests/differential/recipes.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

using ir::Value;

Value axes_of(Draw& d, int64_t rank, bool may_be_empty = false) {
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (d.chance(50)) axes.push_back(d.maybe_negative(axis, rank));
  if (axes.empty() && !may_be_empty && rank > 0) axes.push_back(d.below(rank));
  return d.numbers(axes);
}

void matmul(Draw& d) {
  const Value a = d.data(kReal, 1, 4);
  const ir::Dims dims = d.dims(a);
  const bool turned = dims.size() > 1 && d.chance(30);
  const int64_t depth = turned ? dims[dims.size() - 2] : dims.back(), columns = d.extent(40);
  d.need(ir::element_count(dims) * columns <= 2000000);
  ir::Dims other;
  if (d.chance(60) && dims.size() > 2) {
    other.assign(dims.begin(), dims.end() - 2);
    for (int64_t& extent : other)
      if (d.chance(40)) extent = 1;
    if (d.chance(30)) other.erase(other.begin());
  }
  const bool vector = other.empty() && d.chance(10), turned_b = !vector && d.chance(40);
  other.push_back(turned_b ? columns : depth);
  if (!vector) other.push_back(turned_b ? depth : columns);
  const double scale = 2 / std::sqrt(static_cast<double>(std::max<int64_t>(1, depth)));
  const Value b = d.chance(60) ? d.weights(d.type(a), other, Fill::in(-scale, scale)) : d.like(d.type(a), other);
  d.op({a, b}, {{"transpose_a", turned ? "true" : "false"}, {"transpose_b", turned_b ? "true" : "false"}});
}

void einsum(Draw& d) {
  const std::string equation = d.one_of({"ij,jk->ik",
                                         "bij,bjk->bik",
                                         "ij->ji",
                                         "ij->i",
                                         "ij->",
                                         "ii->i",
                                         "i,j->ij",
                                         "i,i->",
                                         "abc,cd->abd",
                                         "ij,ij->ij",
                                         "bhqd,bhkd->bhqk",
                                         "ab,bc,cd->ad",
                                         "...ij,...jk->...ik",
                                         "abc->cab",
                                         "ijk,ik->jk",
                                         "i,ij,j->",
                                         "abi,ic->abc",
                                         "ab,ab->a",
                                         "a...,a...->...",
                                         "bnqd,bkd->bnqk",
                                         "ij,kj->ik",
                                         "abc,bd->acd"});
  std::map<char, int64_t> extents;
  const ir::Dims rest = {d.between(1, 3), d.between(1, 4)};
  std::vector<Value> inputs;
  const element::Type type = d.one_of(Types{element::f32, element::f32, element::f16, element::f64, element::i32});
  ir::Dims dims;
  const std::string left = equation.substr(0, equation.find("->")) + ",";
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i] == ',') {
      inputs.push_back(d.chance(30) ? d.weights(type, dims) : d.like(type, dims));
      dims.clear();
    } else if (left[i] == '.') {
      dims.insert(dims.end(), rest.begin(), rest.end());
      i += 2;
    } else {
      if (!extents.contains(left[i])) extents[left[i]] = 1 + d.extent(11);
      dims.push_back(extents[left[i]]);
    }
  }
  d.op(inputs, {{"equation", equation}});
}

void inverse(Draw& d) {
  ir::Dims dims = d.chance(50) ? ir::Dims{} : ir::Dims{d.between(1, 3)};
  const int64_t side = d.between(1, 7);
  dims.insert(dims.end(), {side, side});
  HostTensor host = d.tensor(element::f32, dims, Fill::in(-0.5, 0.5));
  for (int64_t i = 0; i < host.view().count(); ++i)
    if (i % (side * side) / side == i % side) host.writable().as<float>()[i] += 4;  // far from singular
  d.op({d.place(std::move(host), 100)});
}

void reduce(Draw& d, const Types& types, Fill fill = {}) {
  const Value x = d.data(types, 0, 5, fill);
  d.op({x, axes_of(d, d.rank(x), d.chance(10))});
}

void over_an_axis(Draw& d, const char* attribute) {
  const Value x = d.data(kReal, 1, 5);
  const bool counts_back = d.schema().opset != "opset1";
  const int64_t axis = d.below(d.rank(x));
  d.op({x}, {{attribute, std::to_string(counts_back ? d.maybe_negative(axis, d.rank(x)) : axis)}});
}

void cumsum(Draw& d) {
  const Value x = d.data(kNumber, 1, 4);
  d.op({x, d.number(d.maybe_negative(d.below(d.rank(x)), d.rank(x)))});
}

void segment_max(Draw& d) {
  const Value x = d.data(kNumber, 1, 3);
  const int64_t rows = d.dims(x)[0];
  HostTensor ids = d.tensor(element::i32, {rows}, Fill::in(0, 5, Fill::Order::ascending));
  std::vector<Value> inputs = {x, d.place(std::move(ids), 60)};
  if (d.chance(50)) inputs.push_back(d.number(d.between(1, 9)));
  // Sums of the lowest real numbers overflow in f32, but not where the oracle adds them up.
  d.op(inputs, d.type(x).is_real() ? AttributeTexts{{"fill_mode", "ZERO"}} : AttributeTexts{});
}

void topk(Draw& d) {
  // Which of equal elements comes first is not defined, unless the operation is told to be stable.
  const bool stable = d.schema().opset == "opset11" && d.chance(50);
  const Value x = stable ? d.exact({element::f32, element::i32, element::u8}, 1, 4, Fill::in(0, 9))
                         : d.exact({element::f32, element::f32, element::f64, element::i32, element::i64}, 1, 4,
                                   Fill::in(-50, 50, Fill::Order::distinct));
  const int64_t axis = d.below(d.rank(x)), extent = d.dims(x)[static_cast<size_t>(axis)];
  AttributeTexts attributes = {{"axis", std::to_string(d.maybe_negative(axis, d.rank(x)))},
                               {"sort", stable ? "value" : d.one_of({"value", "index"})},
                               {"mode", d.one_of({"max", "min"})}};
  if (d.schema().opset == "opset11") attributes.emplace_back("stable", stable ? "true" : "false");
  d.op({x, d.number(d.between(0, extent))}, attributes);
}

void fake_quantize(Draw& d) {
  const Value x = d.exact({element::f32, element::f32, element::f32, element::f16}, 1, 4, Fill::in(-3, 3));
  ir::Dims dims = d.dims(x), limits = {};
  if (d.chance(50) && dims.size() > 1) {
    limits.assign(dims.size(), 1);
    limits[1] = dims[1];
  }
  const element::Type type = d.type(x);
  d.op({x, d.weights(type, limits, Fill::in(-2.5, -0.5)), d.weights(type, limits, Fill::in(0.5, 2.5)),
        d.weights(type, limits, Fill::in(-2.5, -0.5)), d.weights(type, limits, Fill::in(0.5, 2.5))},
       {{"levels", d.one_of({"2", "16", "255", "256"})}, {"auto_broadcast", "numpy"}});
}

void fake_convert(Draw& d) {
  const Value x = d.exact({element::f32, element::f16, element::bf16}, 1, 4, Fill::in(-50, 50));
  std::vector<Value> inputs = {x, d.weights(d.type(x), {}, Fill::in(0.5, 2))};
  if (d.chance(50)) inputs.push_back(d.weights(d.type(x), {}, Fill::in(-1, 1)));
  d.op(inputs, {{"destination_type", d.one_of({"f8e4m3", "f8e5m2"})}});
}

Value per_channel(Draw& d, Value x, Fill fill) { return d.weights(d.type(x), {d.dims(x)[1]}, fill); }

void batch_norm(Draw& d) {
  const Value x = d.data(kReal, 2, 5);
  const Value gamma = per_channel(d, x, Fill::in(0.5, 2)), beta = per_channel(d, x, Fill::in(-1, 1));
  const Value mean = per_channel(d, x, Fill::in(-1, 1)), variance = per_channel(d, x, Fill::in(0.5, 2));
  const bool data_second = d.schema().opset == "opset1";
  d.op(data_second ? std::vector{gamma, beta, x, mean, variance} : std::vector{x, gamma, beta, mean, variance},
       {{"epsilon", "0.001"}});
}

void group_norm(Draw& d) {
  const Value x = d.data(kReal, 2, 5);
  const int64_t channels = d.dims(x)[1];
  std::vector<int64_t> groups;
  for (int64_t i = 1; i <= channels; ++i)
    if (channels % i == 0) groups.push_back(i);
  d.need(!groups.empty());
  d.op({x, per_channel(d, x, Fill::in(0.5, 2)), per_channel(d, x, Fill::in(-1, 1))},
       {{"num_groups", std::to_string(d.one_of(groups))}, {"epsilon", "0.01"}});
}

void lrn(Draw& d) {
  const Value x = d.data(kReal, 2, 4);
  const Value axes = d.chance(60) ? d.numbers({1}) : axes_of(d, d.rank(x));
  d.op({x, axes}, {{"alpha", "0.125"}, {"beta", "0.75"}, {"bias", "1"}, {"size", d.one_of({"1", "3", "5", "4"})}});
}

void mvn_2(Draw& d) {
  const Value x = d.data(kReal, 3, 5);
  d.op({x}, {{"eps", "0.01"}});
}

void mvn_6(Draw& d) {
  const Value x = d.data(kReal, 1, 5);
  d.op({x, axes_of(d, d.rank(x))}, {{"eps", "0.01"}});
}

void normalize_l2(Draw& d) {
  const Value x = d.data(kReal, 1, 4);
  d.op({x, axes_of(d, d.rank(x))}, {{"eps", "0.01"}});
}

const RecipeRow kArithmeticRows[] = {
    {"MatMul-1", matmul},
    {"Einsum-7", einsum},
    {"Inverse-14", inverse},
    {"ReduceL1-4 ReduceL2-4 ReduceMean-1 ReduceSum-1 ReduceMax-1 ReduceMin-1", [](Draw& d) { reduce(d, kNumber); }},
    {"ReduceProd-1", [](Draw& d) { reduce(d, kReal, Fill::in(0.75, 1.25)); }},
    {"ReduceLogicalAnd-1 ReduceLogicalOr-1", [](Draw& d) { reduce(d, {element::boolean}); }},
    {"CumSum-3", cumsum},
    {"SoftMax-1 SoftMax-8 LogSoftmax-5", [](Draw& d) { over_an_axis(d, "axis"); }},
    {"SegmentMax-16", segment_max},
    {"TopK-1 TopK-3 TopK-11", topk},
    {"FakeQuantize-1", fake_quantize},
    {"FakeConvert-13", fake_convert},
    {"BatchNormInference-1 BatchNormInference-5", batch_norm},
    {"GroupNormalization-12", group_norm},
    {"GRN-1",
     [](Draw& d) {
       d.op({d.data(kReal, 2, 4)}, {{"bias", "0.25"}});
     }},
    {"LRN-1", lrn},
    {"MVN-2", mvn_2},
    {"MVN-6", mvn_6},
    {"NormalizeL2-1", normalize_l2},
};

}  // namespace

std::span<const RecipeRow> arithmetic_recipes() { return kArithmeticRows; }

}  // namespace terroir::test
