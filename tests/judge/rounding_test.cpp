// The bounds of the differential test let pass what rounding explains, and catch what a broken kernel would give.
#include "tests/differential/rounding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <ostream>
#include <vector>

#include "tests/differential/model.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

/// A model on the interpreter, and what is said of other results than its own.
class Judged {
 public:
  Judged(const ir::Graph& graph, Tensors inputs)
      : program_(graph, interpreter::Precision::f32),
        inputs_(std::move(inputs)),
        random_(1),
        expected_(program_.run(views_of(inputs_))),
        bounds_(program_, inputs_, {}, random_) {}

  const Tensors& expected() const { return expected_; }
  std::vector<double> allowed(size_t result) const { return bounds_.allowed(result, expected_[result]); }
  std::string fault(const Tensors& actual) const {
    for (size_t i = 0; i < expected_.size(); ++i)
      if (const std::string text = bounds_.beyond(i, expected_[i], actual[i]); !text.empty()) return text;
    return {};
  }

 private:
  interpreter::Program program_;
  Tensors inputs_;
  Random random_;
  Tensors expected_;
  RoundingBounds bounds_;
};

HostTensor copy_of(const HostTensor& tensor) {
  HostTensor copy(tensor.type(), tensor.dims());
  std::memcpy(copy.writable().data, tensor.view().data, tensor.view().bytes());
  return copy;
}

/// The results with another number at one place.
Tensors with(const Tensors& results, size_t result, int64_t at, double number) {
  Tensors changed = results;
  changed[result] = copy_of(results[result]);
  set_number(changed[result].writable(), at, number);
  return changed;
}

double number_at(const HostTensor& tensor, int64_t i) { return static_cast<double>(element_at(tensor.view(), i)); }

double largest_of(const HostTensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.view().count(); ++i) largest = std::max(largest, std::fabs(number_at(tensor, i)));
  return largest;
}

RandomModel model_about(const std::string& operation, element::Type type) {
  for (uint64_t seed = 1; seed < 50; ++seed) {
    RandomModel model = model_of_one(seed, operation, type);
    if (model.has_wanted && !model.inputs.empty() && model.type == type) return model;
  }
  throw std::runtime_error("no model about " + operation);
}

class Rounding : public testing::TestWithParam<const char*> {};

// Each element: just within its bound, just beyond it, and a ten thousandth of the largest one off.
TEST_P(Rounding, BoundsAreSharp) {
  const RandomModel model = model_about(GetParam(), element::f32);
  const Judged judged(*model.graph, model.inputs);
  EXPECT_EQ(judged.fault(judged.expected()), "");
  for (size_t result = 0; result < judged.expected().size(); ++result) {
    const HostTensor& expected = judged.expected()[result];
    if (expected.type() != element::f32) continue;
    const std::vector<double> allowed = judged.allowed(result);
    ASSERT_EQ(static_cast<int64_t>(allowed.size()), expected.view().count());
    const double largest = largest_of(expected);
    for (int64_t i = 0; i < expected.view().count(); i += 1 + expected.view().count() / 64) {
      const double want = number_at(expected, i), bound = allowed[static_cast<size_t>(i)];
      // What a step of f32 may miss the bound by.
      const double step = std::ldexp(std::fabs(want) + bound, -23);
      for (const double sign : {-1.0, 1.0}) {
        EXPECT_EQ(judged.fault(with(judged.expected(), result, i, want + sign * std::max(0.0, bound - step))), "");
        EXPECT_NE(judged.fault(with(judged.expected(), result, i, want + sign * (bound + step + 1e-44))), "");
        EXPECT_NE(judged.fault(with(judged.expected(), result, i, want + sign * 1e-4 * largest + sign * 1e-30)), "")
            << i << ": " << want << " may be off by " << bound;
      }
      EXPECT_NE(judged.fault(with(judged.expected(), result, i, NAN)), "");
      EXPECT_NE(judged.fault(with(judged.expected(), result, i, INFINITY)), "");
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Operations, Rounding,
                         testing::Values("Add-1", "Divide-1", "Exp-1", "Sigmoid-1", "MatMul-1", "Convolution-1",
                                         "GroupConvolution-1", "AvgPool-1", "ReduceSum-1", "ReduceMean-1", "SoftMax-8",
                                         "MVN-6", "NormalizeL2-1", "LRN-1", "Interpolate-4", "GRUCell-3"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           name.erase(name.find('-'), 1);
                           return name;
                         });

class Exact : public testing::TestWithParam<const char*> {};

// One bit, anywhere.
TEST_P(Exact, OneBitIsTooMuch) {
  for (const element::Type type : {element::f32, element::i32, element::u8}) {
    const RandomModel model = model_about(GetParam(), type);
    const Judged judged(*model.graph, model.inputs);
    EXPECT_EQ(judged.fault(judged.expected()), "");
    for (size_t result = 0; result < judged.expected().size(); ++result) {
      const HostTensor& expected = judged.expected()[result];
      if (expected.view().count() == 0 || expected.type() == element::boolean) continue;
      EXPECT_TRUE(judged.allowed(result).empty());
      const size_t width = expected.type().size();
      for (int64_t i = 0; i < expected.view().count(); i += 1 + expected.view().count() / 16) {
        Tensors changed = judged.expected();
        changed[result] = copy_of(expected);
        static_cast<uint8_t*>(changed[result].writable().data)[static_cast<size_t>(i) * width] ^= 1;
        EXPECT_NE(judged.fault(changed), "");
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Operations, Exact,
                         testing::Values("Transpose-1", "Concat-1", "Pad-1", "StridedSlice-1", "Maximum-1",
                                         "ReduceMax-1", "Tile-1"),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           name.erase(name.find('-'), 1);
                           return name;
                         });

/// A model as it is, and as a broken kernel would compute it.
struct Mutation {
  const char* name;
  std::function<void(GraphMaker&, bool broken)> make;
};

void PrintTo(const Mutation& mutation, std::ostream* out) { *out << mutation.name; }

std::vector<float> weights(size_t count) {
  Random random(7);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.unit() - 0.5);
  return values;
}

void convolution(GraphMaker& m, const AttributeTexts& attributes, bool drops_a_tap) {
  std::vector<float> wei = weights(4 * 16 * 9);
  if (drops_a_tap) wei[5 * 9 + 3] = 0;
  m.result(m.op("Convolution", {m.input({1, 16, 9, 9}), m.constant({4, 16, 3, 3}, wei)}, attributes));
}

void pool(GraphMaker& m, const char* type, AttributeTexts attributes) {
  attributes.emplace_back("strides", "1,1");
  m.result(m.op(type, {m.input({1, 3, 9, 9})}, attributes));
}

void interpolate(GraphMaker& m, const char* mode, AttributeTexts attributes, const std::vector<int64_t>& sizes) {
  attributes.emplace_back("mode", mode);
  attributes.emplace_back("shape_calculation_mode", "sizes");
  m.result(m.op("Interpolate", {m.input({1, 2, 9, 9}), m.integers(sizes), m.integers({2, 3})}, attributes));
}

const char* either(bool second, const char* a, const char* b) { return second ? b : a; }

const Mutation kMutations[] = {
    {"ConvolutionDropsATap",
     [](GraphMaker& m, bool broken) {
       convolution(m, {{"pads_begin", "1,1"}, {"pads_end", "1,1"}}, broken);
     }},
    {"ConvolutionIsShifted",
     [](GraphMaker& m, bool broken) {
       convolution(m, {{"pads_begin", either(broken, "1,1", "1,0")}, {"pads_end", either(broken, "1,1", "1,2")}},
                   false);
     }},
    {"ConvolutionSwapsRowsAndColumns",
     [](GraphMaker& m, bool broken) {
       const ir::Value wei = m.constant({4, 16, 3, 3}, weights(4 * 16 * 9));
       const ir::Value turned = m.op("Transpose", {wei, m.integers({0, 1, 3, 2})});
       m.result(m.op("Convolution", {m.input({1, 16, 9, 9}), broken ? turned : wei}));
     }},
    {"ConvolutionIgnoresDilation",
     [](GraphMaker& m, bool broken) {
       convolution(m,
                   {{"dilations", either(broken, "2,2", "1,1")},
                    {"pads_begin", either(broken, "2,2", "1,1")},
                    {"pads_end", either(broken, "2,2", "1,1")}},
                   false);
     }},
    {"MaxPoolIsShifted",
     [](GraphMaker& m, bool broken) {
       pool(m, "MaxPool",
            {{"kernel", "2,2"},
             {"pads_begin", either(broken, "0,1", "0,0")},
             {"pads_end", either(broken, "0,0", "0,1")}});
     }},
    {"MaxPoolDropsATap",
     [](GraphMaker& m, bool broken) {
       pool(m, "MaxPool",
            {{"kernel", either(broken, "3,3", "3,2")},
             {"pads_begin", "0,0"},
             {"pads_end", either(broken, "0,1", "0,0")}});
     }},
    {"AvgPoolCountsPadding",
     [](GraphMaker& m, bool broken) {
       pool(m, "AvgPool",
            {{"kernel", "3,3"},
             {"pads_begin", "1,1"},
             {"pads_end", "1,1"},
             {"exclude-pad", either(broken, "true", "false")}});
     }},
    {"AvgPoolIsShifted",
     [](GraphMaker& m, bool broken) {
       pool(m, "AvgPool",
            {{"kernel", "2,2"},
             {"exclude-pad", "true"},
             {"pads_begin", either(broken, "0,1", "0,0")},
             {"pads_end", either(broken, "0,0", "0,1")}});
     }},
    {"LinearTakesOtherCoordinates",
     [](GraphMaker& m, bool broken) {
       interpolate(m, "linear", {{"coordinate_transformation_mode", either(broken, "half_pixel", "asymmetric")}},
                   {14, 20});
     }},
    {"LinearSwapsAxes",
     [](GraphMaker& m, bool broken) {
       const ir::Value x = m.input({1, 2, 9, 9});
       const auto turned = [&](ir::Value v) { return m.op("Transpose", {v, m.integers({0, 1, 3, 2})}); };
       const ir::Value y = m.op("Interpolate", {broken ? turned(x) : x, m.integers({14, 14}), m.integers({2, 3})},
                                {{"mode", "linear"}, {"shape_calculation_mode", "sizes"}});
       m.result(y);
     }},
    {"NearestRoundsElsewhere",
     [](GraphMaker& m, bool broken) {
       interpolate(m, "nearest",
                   {{"coordinate_transformation_mode", "asymmetric"},
                    {"nearest_mode", either(broken, "round_prefer_floor", "round_prefer_ceil")}},
                   {18, 18});
     }},
    {"CubicTakesAnotherCoefficient",
     [](GraphMaker& m, bool broken) {
       interpolate(m, "cubic", {{"cube_coeff", either(broken, "-0.75", "-0.749")}}, {14, 20});
     }},
    {"CubicIsOnePixelOff",
     [](GraphMaker& m, bool broken) {
       const ir::Value x = m.input({1, 2, 9, 9});
       const ir::Value moved = m.op("Roll", {x, m.integers({1}), m.integers({3})});
       m.result(m.op("Interpolate", {broken ? moved : x, m.integers({14, 20}), m.integers({2, 3})},
                     {{"mode", "cubic"}, {"shape_calculation_mode", "sizes"}}));
     }},
    {"SumOverAnotherAxis",
     [](GraphMaker& m, bool broken) {
       m.result(m.op("ReduceSum", {m.input({5, 9, 9}), m.integers({broken ? 1 : 2})}));
     }},
    {"MeanDividesByOneLess",
     [](GraphMaker& m, bool broken) {
       const ir::Value sum = m.op("ReduceSum", {m.input({5, 999}), m.integers({1})});
       m.result(m.op("Divide", {sum, m.scalar(broken ? 998 : 999)}));
     }},
    {"SumDropsTheLastElement",
     [](GraphMaker& m, bool broken) {
       const ir::Value x = m.input({5, 1000});
       const ir::Value part = m.op("StridedSlice", {x, m.integers({0, 0}), m.integers({5, broken ? 999 : 1000})},
                                   {{"begin_mask", "0,0"}, {"end_mask", "0,0"}});
       m.result(m.op("ReduceSum", {part, m.integers({1})}));
     }},
    {"SoftMaxAlongAnotherAxis",
     [](GraphMaker& m, bool broken) {
       m.result(m.op("SoftMax", {m.input({5, 9, 9})}, {{"axis", either(broken, "1", "2")}}));
     }},
    {"SoftMaxLeavesOneOut",
     [](GraphMaker& m, bool broken) {
       std::vector<float> mask(999, 0.0f);
       if (broken) mask.back() = -INFINITY;
       m.result(m.op("SoftMax", {m.op("Add", {m.input({3, 999}), m.constant({999}, mask)})}, {{"axis", "1"}}));
     }},
    {"MatMulDropsTheLastOfItsDepth",
     [](GraphMaker& m, bool broken) {
       std::vector<float> b = weights(129 * 7);
       if (broken) std::fill(b.end() - 7, b.end(), 0.0f);
       m.result(m.op("MatMul", {m.input({5, 129}), m.constant({129, 7}, b)}));
     }},
    {"MatMulTurnsB",
     [](GraphMaker& m, bool broken) {
       m.result(m.op("MatMul", {m.input({9, 9}), m.constant({9, 9}, weights(81))},
                     {{"transpose_b", either(broken, "false", "true")}}));
     }},
    {"MvnAddsEpsilonElsewhere",
     [](GraphMaker& m, bool broken) {
       m.result(m.op("MVN", {m.input({3, 99}), m.integers({1})},
                     {{"normalize_variance", "true"},
                      {"eps", "0.001"},
                      {"eps_mode", either(broken, "inside_sqrt", "outside_sqrt")}}));
     }},
};

class Mutations : public testing::TestWithParam<Mutation> {};

TEST_P(Mutations, AreCaught) {
  GraphMaker right, broken;
  GetParam().make(right, false);
  GetParam().make(broken, true);
  Tensors inputs;
  for (size_t i = 0; i < right.inputs().size(); ++i) inputs.push_back(random_tensor(right.dims(right.inputs()[i]), 3));
  const Judged judged(right.graph(), inputs);
  EXPECT_EQ(judged.fault(judged.expected()), "");
  const Tensors mutated = interpreter::run(broken.graph(), views_of(inputs));
  ASSERT_EQ(mutated[0].dims(), judged.expected()[0].dims());
  EXPECT_NE(judged.fault(mutated), "");
}
INSTANTIATE_TEST_SUITE_P(Kernels, Mutations, testing::ValuesIn(kMutations),
                         [](const auto& instance) { return std::string(instance.param.name); });

// Sums whose terms cancel out are judged by their terms.
TEST(SumsThatCancel, AreNotHeldToTheirOwnSize) {
  GraphMaker m;
  m.result(m.op("ReduceSum", {m.input({1000}), m.integers({0})}));
  HostTensor x(element::f32, {1000});
  for (int i = 0; i < 1000; ++i)
    x.writable().as<float>()[i] = (i % 2 == 0 ? 1.0f : -1.0f) + 1e-6f * static_cast<float>(i % 7);
  const Judged judged(m.graph(), {x});
  const double sum = number_at(judged.expected()[0], 0);
  EXPECT_EQ(judged.fault(with(judged.expected(), 0, 0, sum + 1e-4)), "");  // a unit or two of 1000 terms
  EXPECT_NE(judged.fault(with(judged.expected(), 0, 0, sum + 0.1)), "");   // a tenth of a term
}

// Finite terms beyond the largest float end as their order has it; infinite ones do not.
TEST(SumsThatOverflow, MayEndAnyhow) {
  GraphMaker m;
  m.result(m.op("ReduceSum", {m.input({3, 4}), m.integers({1})}));
  HostTensor x(element::f32, {3, 4});
  constexpr float kMost = std::numeric_limits<float>::max(), kInfinity = std::numeric_limits<float>::infinity();
  std::ranges::copy(std::vector<float>{kMost, kMost, -kMost, -kMost, kMost, 1, -kMost, 0, 1, 2, 3, 4},
                    x.writable().as<float>());
  const Judged judged(m.graph(), {x});
  for (const double any : {0.0, 1.0, static_cast<double>(kInfinity), -static_cast<double>(kInfinity)})
    for (const int64_t row : {0, 1}) EXPECT_EQ(judged.fault(with(judged.expected(), 0, row, any)), "") << any;
  EXPECT_NE(judged.fault(with(judged.expected(), 0, 2, kInfinity)), "");
  x.writable().as<float>()[8] = kInfinity;
  const Judged infinite(m.graph(), {x});
  EXPECT_NE(infinite.fault(with(infinite.expected(), 0, 2, -kInfinity)), "");
}

// What lies on a step of FakeQuantize may come out on either side of it, and what follows from it is as far off.
TEST(RoundingBounds, StepsThatRoundingDecides) {
  GraphMaker m;
  const ir::Value low = m.scalar(-1), high = m.scalar(1);
  const ir::Value sum = m.op("ReduceSum", {m.input({20, 2}), m.integers({1})}, {{"keep_dims", "false"}});
  const ir::Value quantised = m.op("FakeQuantize", {sum, low, high, low, high}, {{"levels", "3"}});
  m.result(m.op("Multiply", {quantised, m.scalar(4)}));
  HostTensor input(element::f32, {20, 2});
  // Sums of 0.1, but for one that is half a step of 1.
  for (int i = 0; i < 40; ++i) input.writable().as<float>()[i] = 0.05f;
  input.writable().as<float>()[2] = 0.2f;
  input.writable().as<float>()[3] = 0.3f;
  const Judged judged(m.graph(), {input});
  const std::vector<double> allowed = judged.allowed(0);
  EXPECT_LT(allowed[0], 0.1);
  EXPECT_GE(allowed[1], 4);
  EXPECT_LT(allowed[2], 0.1);
  const double there = number_at(judged.expected()[0], 1);
  EXPECT_EQ(judged.fault(with(judged.expected(), 0, 1, there == 0 ? 4 : 0)), "");
  EXPECT_NE(judged.fault(with(judged.expected(), 0, 0, 4)), "");
}

// Of equal elements nothing is left but what the roundings of their mean leave.
TEST(RoundingBounds, NearlyEqualElementsWithoutTheirMean) {
  GraphMaker m;
  m.result(m.op("MVN", {m.input({2, 8}), m.integers({1})},
                {{"eps", "0.01"}, {"normalize_variance", "false"}, {"eps_mode", "outside_sqrt"}}));
  HostTensor input(element::f32, {2, 8});
  for (int i = 0; i < 16; ++i) input.writable().as<float>()[i] = 1.3f;
  const Judged judged(m.graph(), {input});
  EXPECT_EQ(number_at(judged.expected()[0], 3), 0);
  EXPECT_EQ(judged.fault(with(judged.expected(), 0, 3, 0x1p-23)), "");
  EXPECT_NE(judged.fault(with(judged.expected(), 0, 3, 1e-4)), "");
}

}  // namespace
}  // namespace terroir::test
