// Operations on each element, alone or with its partner.
#include "tests/bench/ops.hpp"

namespace terroir::bench {
namespace {

const Shape kShape{1, 64, 112, 112}, kChannel{1, 64, 1, 1};

void add_unary(OpRows& rows) {
  const std::vector<std::pair<const char*, const char*>> plain{
      {"Abs", "opset1"},       {"Acos", "opset1"},     {"Acosh", "opset4"},    {"Asin", "opset1"},
      {"Asinh", "opset4"},     {"Atan", "opset1"},     {"Atanh", "opset4"},    {"Ceiling", "opset1"},
      {"Cos", "opset1"},       {"Cosh", "opset1"},     {"Erf", "opset1"},      {"Exp", "opset1"},
      {"Floor", "opset1"},     {"Gelu", "opset7"},     {"HSigmoid", "opset5"}, {"HSwish", "opset4"},
      {"IsFinite", "opset10"}, {"IsInf", "opset10"},   {"IsNaN", "opset10"},   {"Log", "opset1"},
      {"Mish", "opset4"},      {"Negative", "opset1"}, {"ReLU", "opset1"},     {"Round", "opset5"},
      {"Sigmoid", "opset1"},   {"Sign", "opset1"},     {"Sin", "opset1"},      {"Sinh", "opset1"},
      {"SoftPlus", "opset4"},  {"SoftSign", "opset9"}, {"Sqrt", "opset1"},     {"Swish", "opset4"},
      {"Tan", "opset1"},       {"Tanh", "opset1"}};
  for (const auto& [type, opset] : plain) rows.push_back({std::string(type), type, opset, {}, {tensor(kShape)}});
  rows.push_back({"Clamp", "Clamp", "opset1", {{"min", "-0.5"}, {"max", "0.5"}}, {tensor(kShape)}});
  rows.push_back({"Elu", "Elu", "opset1", {{"alpha", "1"}}, {tensor(kShape)}});
  rows.push_back({"HardSigmoid", "HardSigmoid", "opset1", {}, {tensor(kShape), scalar(0.2), scalar(0.5)}});
  rows.push_back({"Selu", "Selu", "opset1", {}, {tensor(kShape), scalar(1.67), scalar(1.05)}});
  rows.push_back({"PReLU", "PReLU", "opset1", {}, {tensor(kShape), weights({64})}});
  rows.push_back({"Abs/i32", "Abs", "opset1", {}, {tensor(kShape, element::i32)}});
  rows.push_back({"LogicalNot", "LogicalNot", "opset1", {}, {tensor(kShape, element::boolean)}});
  rows.push_back({"BitwiseNot/u8", "BitwiseNot", "opset13", {}, {tensor(kShape, element::u8)}});
}

void add_binary(OpRows& rows) {
  const std::vector<const char*> arithmetic{"Add", "Divide",   "FloorMod", "Maximum",           "Minimum",
                                            "Mod", "Multiply", "Power",    "SquaredDifference", "Subtract"};
  for (const char* type : arithmetic) {
    rows.push_back({std::string(type) + "/same", type, "opset1", {}, {tensor(kShape), tensor(kShape)}});
    rows.push_back({std::string(type) + "/channels", type, "opset1", {}, {tensor(kShape), tensor(kChannel)}});
  }
  for (const element::Type type : {element::i32, element::i64, element::u8}) {
    rows.push_back({"Add/" + type.get_type_name(), "Add", "opset1", {}, {tensor(kShape, type), tensor(kShape, type)}});
    rows.push_back(
        {"Multiply/" + type.get_type_name(), "Multiply", "opset1", {}, {tensor(kShape, type), tensor(kShape, type)}});
  }
  for (const char* type : {"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"}) {
    rows.push_back({std::string(type) + "/same", type, "opset1", {}, {tensor(kShape), tensor(kShape)}});
    rows.push_back({std::string(type) + "/i64_scalar",
                    type,
                    "opset1",
                    {},
                    {tensor({1, 512, 512}, element::i64), scalar(3, element::i64)}});
  }
  for (const char* type : {"LogicalAnd", "LogicalOr", "LogicalXor"})
    rows.push_back({type, type, "opset2", {}, {tensor(kShape, element::boolean), tensor(kShape, element::boolean)}});
  for (const char* type : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
    rows.push_back({std::string(type) + "/i32",
                    type,
                    "opset13",
                    {},
                    {tensor(kShape, element::i32), tensor(kShape, element::i32)}});
  rows.push_back(
      {"Select/same", "Select", "opset1", {}, {tensor(kShape, element::boolean), tensor(kShape), tensor(kShape)}});
  rows.push_back({"Select/mask",
                  "Select",
                  "opset1",
                  {},
                  {tensor({1, 1, 128, 128}, element::boolean), tensor({1, 12, 128, 128}), scalar(-1e4)}});
}

}  // namespace

OpRows pointwise_rows() {
  OpRows rows;
  add_unary(rows);
  add_binary(rows);
  rows.push_back({"FakeQuantize/tensor",
                  "FakeQuantize",
                  "opset1",
                  {{"levels", "256"}},
                  {tensor(kShape), scalar(-1), scalar(1), scalar(-1), scalar(1)}});
  rows.push_back({"FakeQuantize/channels",
                  "FakeQuantize",
                  "opset1",
                  {{"levels", "256"}},
                  {tensor(kShape), same(kChannel, -1), same(kChannel, 1), same(kChannel, -1), same(kChannel, 1)}});
  return rows;
}

}  // namespace terroir::bench
