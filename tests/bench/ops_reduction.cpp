// Operations whose results gather many elements, and normalisations.
#include "tests/bench/ops.hpp"

namespace terroir::bench {
namespace {

void add_reductions(OpRows& rows) {
  for (const char* type : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2"}) {
    // Products of thousands of values below 1 would be measured where they are subnormal, in the processor's microcode.
    const auto tensor = [&](const Shape& shape) {
      OpOperand operand = bench::tensor(shape);
      if (std::string(type) == "ReduceProd") operand.fill = OpOperand::Fill::one, operand.value = 1;
      return operand;
    };
    rows.push_back({std::string(type) + "/spatial",
                    type,
                    type[6] == 'L' ? "opset4" : "opset1",
                    {{"keep_dims", "true"}},
                    {tensor(kImage), integers({2, 3})}});
    rows.push_back({std::string(type) + "/channels",
                    type,
                    type[6] == 'L' ? "opset4" : "opset1",
                    {{"keep_dims", "true"}},
                    {tensor(kImage), integers({1})}});
    rows.push_back({std::string(type) + "/last",
                    type,
                    type[6] == 'L' ? "opset4" : "opset1",
                    {{"keep_dims", "true"}},
                    {tensor(kTokens), integers({2})}});
  }
  rows.push_back({"ReduceSum/two_apart",
                  "ReduceSum",
                  "opset1",
                  {{"keep_dims", "true"}},
                  {tensor({16, 64, 28, 28}), integers({0, 2})}});
  rows.push_back({"ReduceSum/i32",
                  "ReduceSum",
                  "opset1",
                  {{"keep_dims", "true"}},
                  {tensor(kTokens, element::i32), integers({2})}});
  rows.push_back(
      {"ReduceL2/i32", "ReduceL2", "opset4", {{"keep_dims", "true"}}, {tensor(kTokens, element::i32), integers({2})}});
  for (const char* type : {"ReduceLogicalAnd", "ReduceLogicalOr"})
    rows.push_back({type, type, "opset1", {{"keep_dims", "true"}}, {tensor(kTokens, element::boolean), integers({2})}});
}

void add_normalisations(OpRows& rows) {
  rows.push_back({"SoftMax/last", "SoftMax", "opset8", {{"axis", "-1"}}, {tensor({1, 12, 512, 512})}});
  rows.push_back({"SoftMax/channels", "SoftMax", "opset8", {{"axis", "1"}}, {tensor({1, 21, 128, 128})}});
  rows.push_back({"LogSoftmax/last", "LogSoftmax", "opset5", {{"axis", "-1"}}, {tensor({1, 512, 1000})}});
  rows.push_back({"LogSoftmax/channels", "LogSoftmax", "opset5", {{"axis", "1"}}, {tensor({1, 21, 128, 128})}});
  const AnyMap mvn{{"eps", "1e-6"}, {"normalize_variance", "true"}, {"eps_mode", "inside_sqrt"}};
  rows.push_back({"MVN/spatial", "MVN", "opset6", mvn, {tensor(kImage), integers({2, 3})}});
  rows.push_back({"MVN/channels", "MVN", "opset6", mvn, {tensor(kImage), integers({1})}});
  rows.push_back({"MVN/last", "MVN", "opset6", mvn, {tensor(kTokens), integers({2})}});
  rows.push_back({"GroupNormalization",
                  "GroupNormalization",
                  "opset12",
                  {{"num_groups", "8"}, {"epsilon", "1e-5"}},
                  {tensor(kImage), weights({64}), weights({64})}});
  rows.push_back({"NormalizeL2/channels",
                  "NormalizeL2",
                  "opset1",
                  {{"eps", "1e-6"}, {"eps_mode", "add"}},
                  {tensor(kImage), integers({1})}});
  rows.push_back({"LRN/channels",
                  "LRN",
                  "opset1",
                  {{"alpha", "1e-4"}, {"beta", "0.75"}, {"bias", "1"}, {"size", "5"}},
                  {tensor(kImage), integers({1})}});
  rows.push_back({"BatchNormInference",
                  "BatchNormInference",
                  "opset5",
                  {{"epsilon", "1e-5"}},
                  {tensor(kImage), tensor({64}), tensor({64}), tensor({64}), tensor({64})}});
  rows.push_back({"CumSum/last", "CumSum", "opset3", {}, {tensor(kTokens), scalar(2, element::i32)}});
  rows.push_back({"CumSum/first", "CumSum", "opset3", {}, {tensor({512, 768}), scalar(0, element::i32)}});
}

void add_interpolations(OpRows& rows) {
  const auto add = [&](const char* name, const char* mode, const char* coordinates, std::vector<int64_t> sizes) {
    rows.push_back({std::string("Interpolate/") + name,
                    "Interpolate",
                    "opset11",
                    {{"mode", mode},
                     {"shape_calculation_mode", "sizes"},
                     {"coordinate_transformation_mode", coordinates},
                     {"nearest_mode", "floor"}},
                    {tensor({1, 64, 56, 56}), integers(std::move(sizes)), integers({2, 3})}});
  };
  add("nearest_twice", "nearest", "asymmetric", {112, 112});
  add("nearest_odd", "nearest", "half_pixel", {75, 75});
  add("linear_onnx", "linear_onnx", "half_pixel", {112, 112});
  add("linear", "linear", "half_pixel", {112, 112});
  add("cubic", "cubic", "half_pixel", {112, 112});
  add("bilinear_pillow", "bilinear_pillow", "half_pixel", {112, 112});
  add("bicubic_pillow", "bicubic_pillow", "half_pixel", {112, 112});
}

}  // namespace

OpRows reduction_rows() {
  OpRows rows;
  add_reductions(rows);
  add_normalisations(rows);
  add_interpolations(rows);
  return rows;
}

}  // namespace terroir::bench
