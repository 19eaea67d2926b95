// Elementwise ops of every type as tile programs against their reference kernels, bit for bit.
#include "plugins/cpu/tile_lowering.hpp"

#include <cstring>

#include "ops/registry.hpp"
#include "tests/kernels/kernel_test.hpp"
#include "tests/support/attribute_setter.hpp"

namespace terroir::testing {
namespace {

using test::AttributeTexts;

/// Bytes of one tensor behind a guard page.
struct Bytes {
  element::Type type;
  ir::Dims dims;
  GuardedBuffer<uint8_t> data;
  Bytes(element::Type t, ir::Dims d)
      : type(t), dims(std::move(d)), data(static_cast<int64_t>(ir::byte_size(t, ir::element_count(dims)))) {}
  ir::TensorView view() const { return {type, dims, data.data()}; }
};

constexpr element::Type_t kWhole[] = {element::Type_t::i8,  element::Type_t::i16, element::Type_t::i32,
                                      element::Type_t::i64, element::Type_t::u8,  element::Type_t::u16,
                                      element::Type_t::u32, element::Type_t::u64};
constexpr element::Type_t kConvertible[] = {element::Type_t::i8,   element::Type_t::i16,    element::Type_t::i32,
                                            element::Type_t::i64,  element::Type_t::u8,     element::Type_t::u16,
                                            element::Type_t::u32,  element::Type_t::u64,    element::Type_t::boolean,
                                            element::Type_t::f16,  element::Type_t::f32,    element::Type_t::f64,
                                            element::Type_t::bf16, element::Type_t::f8e4m3, element::Type_t::f8e5m2};

double interesting(std::mt19937_64& engine) {
  static const double kSpecial[] = {
      0.0,          -0.0,         1,        -1,      0.5,        -0.5,         2.5,           -3.5,
      127.5,        128,          255.5,    256,     -128,       -129,         448,           464,
      466,          61439,        61440,    57344,   65504,      65519,        65520,         1e-3,
      0x1p-9,       0x1p-10,      0x1.8p-9, 0x1p-16, 0x1p-17,    0x1.8p-17,    0x1p-24,       0x1p-126,
      0x1p-149,     32767.5,      -32769,   65536,   2147483647, 2147483648.0, -2147483648.0, -2147483649.0,
      4294967295.0, 4294967296.0, 0x1p63,   -0x1p63, 0x1p64,     1e30,         -1e30,         INFINITY,
      -INFINITY,    NAN};
  if (engine() % 2 != 0) return kSpecial[engine() % std::size(kSpecial)];
  const double unit = static_cast<double>(engine() >> 11) * 0x1p-53 - 0.5;
  return std::ldexp(unit, static_cast<int>(engine() % 40) - 4);
}

/// Small and extreme integers, any bits; special and ordinary numbers for floating point.
void fill(Bytes& bytes, uint32_t seed) {
  std::mt19937_64 engine(seed);
  const size_t width = bytes.type.size();
  for (int64_t i = 0; i < ir::element_count(bytes.dims); ++i) {
    uint8_t* at = bytes.data.data() + static_cast<size_t>(i) * width;
    if (bytes.type == element::f32) {
      const auto x = static_cast<float>(interesting(engine));
      std::memcpy(at, &x, width);
    } else if (bytes.type == element::f64) {
      const double x = interesting(engine);
      std::memcpy(at, &x, width);
    } else {
      const uint64_t draw = engine() % 4, bits = engine();
      const uint64_t small = static_cast<uint64_t>(static_cast<int64_t>(bits % 21) - 10);
      const uint64_t extreme = (bits & 1) != 0 ? uint64_t{1} << (8 * width - 1) : (uint64_t{1} << (8 * width - 1)) - 1;
      const uint64_t value = draw < 2 ? small : draw == 2 ? extreme : bits;
      std::memcpy(at, &value, width);
    }
  }
}

bool is_nan(element::Type type, const uint8_t* at) {
  if (type == element::f32) {
    float x;
    std::memcpy(&x, at, sizeof(x));
    return x != x;
  }
  if (type == element::f64) {
    double x;
    std::memcpy(&x, at, sizeof(x));
    return x != x;
  }
  if (type != element::f16 && type != element::bf16) return false;
  uint16_t half;
  std::memcpy(&half, at, sizeof(half));
  return (half & 0x7fff) > (type == element::f16 ? 0x7c00 : 0x7f80);
}

class Tiles : public KernelTest {
 protected:
  /// Runs the op both ways; false where it has no tile loops.
  bool check(const std::string& type, const AttributeTexts& texts,
             const std::vector<std::pair<element::Type, ir::Dims>>& operands, element::Type result,
             const ir::Dims& dims) {
    const ir::OpSchema* schema = ops::builtin_registry().find(type, "opset16");
    if (schema == nullptr) schema = ops::builtin_registry().find(type, "opset1");
    EXPECT_NE(schema, nullptr) << type;
    const auto attributes = schema->make_attributes();
    test::set_attributes(*attributes, texts);
    cpu::StepView view{*schema, *attributes, {}, std::vector<const ir::Constant*>(operands.size(), nullptr), {}};
    view.output = {result, PartialShape(ir::to_shape(dims))};
    std::vector<std::unique_ptr<Bytes>> tensors;
    std::vector<ir::TensorView> views;
    std::vector<const void*> pointers;
    for (const auto& [operand, extents] : operands) {
      view.inputs.push_back({operand, PartialShape(ir::to_shape(extents))});
      tensors.push_back(std::make_unique<Bytes>(operand, extents));
      fill(*tensors.back(), static_cast<uint32_t>(tensors.size() + 10 * dims.size()));
      views.push_back(tensors.back()->view());
      pointers.push_back(views.back().data);
    }
    cpu::TileProgram program(isa(), dims);
    std::vector<int> registers;
    for (size_t i = 0; i < operands.size(); ++i)
      registers.push_back(
          program.add_input(static_cast<int>(i), cpu::aligned_operand(view, i), operands[i].first.size()));
    const auto lowered = cpu::lower(view, registers, isa(), program);
    if (!std::holds_alternative<int>(lowered)) return false;
    EXPECT_TRUE(program.finish(std::get<int>(lowered)));
    Bytes want(result, dims), got(result, dims);
    ir::MutableTensorView want_view{result, dims, want.data.data()};
    schema->reference({*attributes, views, std::span(&want_view, 1)});
    void* outputs[] = {got.data.data()};
    for (const int threads : {1, 2}) {
      std::fill(got.data.begin(), got.data.end(), uint8_t{0xaa});
      const parallel::Arena arena(threads);
      program.run({pointers.data(), outputs, nullptr, {}, arena});
      EXPECT_TRUE(got.data.intact());
      const size_t width = result.size();
      for (int64_t i = 0; i < ir::element_count(dims); ++i) {
        const uint8_t *w = want.data.data() + static_cast<size_t>(i) * width,
                      *g = got.data.data() + static_cast<size_t>(i) * width;
        if (is_nan(result, w) && is_nan(result, g)) continue;
        if (std::memcmp(w, g, width) != 0) {
          ADD_FAILURE() << type << " " << operands[0].first << " -> " << result << " of "
                        << PartialShape(ir::to_shape(dims)) << " at " << i;
          return true;
        }
      }
    }
    return true;
  }
  void expect_tiles(const std::string& type, const AttributeTexts& texts,
                    const std::vector<std::pair<element::Type, ir::Dims>>& operands, element::Type result,
                    const ir::Dims& dims) {
    EXPECT_TRUE(check(type, texts, operands, result, dims)) << type << " of " << operands[0].first << " has no loops";
  }
  void expect_binary(const std::string& type, element::Type operand, element::Type result,
                     const AttributeTexts& texts = {}) {
    for (const int64_t n : {1, 63, 64, 65, 511, 513, 9001})
      expect_tiles(type, texts, {{operand, {n}}, {operand, {n}}}, result, {n});
    expect_tiles(type, texts, {{operand, {7, 131}}, {operand, {}}}, result, {7, 131});
    expect_tiles(type, texts, {{operand, {}}, {operand, {7, 131}}}, result, {7, 131});
    expect_tiles(type, texts, {{operand, {5, 1, 67}}, {operand, {3, 1}}}, result, {5, 3, 67});
    expect_tiles(type, texts, {{operand, {5, 3, 2}}, {operand, {3, 2}}}, result, {5, 3, 2});
  }
  void expect_unary(const std::string& type, element::Type operand, element::Type result,
                    const AttributeTexts& texts = {}) {
    for (const int64_t n : {1, 63, 64, 65, 511, 513, 9001}) expect_tiles(type, texts, {{operand, {n}}}, result, {n});
  }
};

TEST_P(Tiles, ArithmeticOfIntegersAndDoubles) {
  for (const char* op : {"Add", "Subtract", "Multiply", "Maximum", "Minimum", "SquaredDifference", "Mod", "FloorMod"}) {
    for (const element::Type_t type : kWhole) expect_binary(op, type, type);
    expect_binary(op, element::f64, element::f64);
  }
  for (const char* python : {"true", "false"}) {
    for (const element::Type_t type : kWhole) expect_binary("Divide", type, type, {{"m_pythondiv", python}});
    expect_binary("Divide", element::f64, element::f64, {{"m_pythondiv", python}});
  }
  for (const element::Type_t type : kWhole) expect_binary("Power", type, type);
}

TEST_P(Tiles, RemaindersOfFloats) {
  expect_binary("Mod", element::f32, element::f32);
  expect_binary("FloorMod", element::f32, element::f32);
}

TEST_P(Tiles, Bits) {
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    for (const element::Type_t type : kWhole) expect_binary(op, type, type);
    expect_binary(op, element::boolean, element::boolean);
  }
  for (const char* op : {"BitwiseLeftShift", "BitwiseRightShift"})
    for (const element::Type_t type : kWhole) expect_binary(op, type, type);
  for (const element::Type_t type : kWhole) expect_unary("BitwiseNot", type, type);
  expect_unary("BitwiseNot", element::boolean, element::boolean);
}

TEST_P(Tiles, ComparisonsAndLogic) {
  for (const char* op : {"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"}) {
    for (const element::Type_t type : kWhole) expect_binary(op, type, element::boolean);
    for (const element::Type type : {element::f32, element::f64, element::boolean})
      expect_binary(op, type, element::boolean);
  }
  for (const char* op : {"LogicalAnd", "LogicalOr", "LogicalXor", "Xor"})
    expect_binary(op, element::boolean, element::boolean);
  expect_unary("LogicalNot", element::boolean, element::boolean);
  for (const char* op : {"IsNaN", "IsFinite", "IsInf"})
    for (const element::Type type : {element::f32, element::f64}) expect_unary(op, type, element::boolean);
  expect_unary("IsInf", element::f32, element::boolean, {{"detect_negative", "false"}});
  expect_unary("IsInf", element::f32, element::boolean, {{"detect_positive", "false"}});
}

TEST_P(Tiles, OneOperand) {
  for (const char* op : {"Abs", "Negative", "Sign", "ReLU", "Floor", "Ceiling", "Round"}) {
    for (const element::Type_t type : kWhole) expect_unary(op, type, type);
    expect_unary(op, element::f64, element::f64);
  }
  expect_unary("Round", element::f64, element::f64, {{"mode", "half_away_from_zero"}});
  expect_unary("Sqrt", element::f64, element::f64);
  for (const element::Type_t type : kWhole) {
    expect_unary("Clamp", type, type, {{"min", "-3.5"}, {"max", "6.5"}});
    expect_unary("Clamp", type, type, {{"min", "-1e30"}, {"max", "1e30"}});
  }
  expect_unary("Clamp", element::f64, element::f64, {{"min", "-3.5"}, {"max", "6.5"}});
}

TEST_P(Tiles, PReluSlopesOfEveryShape) {
  for (const element::Type type : {element::i8, element::i32, element::u16, element::f64}) {
    expect_tiles("PReLU", {}, {{type, {2, 3, 67}}, {type, {3}}}, type, {2, 3, 67});
    expect_tiles("PReLU", {}, {{type, {2, 3, 67}}, {type, {1}}}, type, {2, 3, 67});
    expect_tiles("PReLU", {}, {{type, {2, 3, 67}}, {type, {67}}}, type, {2, 3, 67});
    expect_tiles("PReLU", {}, {{type, {2, 3, 67}}, {type, {3, 1}}}, type, {2, 3, 67});
  }
}

TEST_P(Tiles, SelectOfEveryWidthAndBroadcast) {
  for (const element::Type type : {element::i8, element::f16, element::f32, element::i64, element::boolean}) {
    expect_tiles("Select", {}, {{element::boolean, {5, 3, 67}}, {type, {5, 3, 67}}, {type, {5, 3, 67}}}, type,
                 {5, 3, 67});
    expect_tiles("Select", {}, {{element::boolean, {3, 1}}, {type, {}}, {type, {5, 1, 67}}}, type, {5, 3, 67});
    expect_tiles("Select", {}, {{element::boolean, {}}, {type, {5, 3, 67}}, {type, {67}}}, type, {5, 3, 67});
    expect_tiles("Select", {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", "1"}},
                 {{element::boolean, {3}}, {type, {5, 3, 67}}, {type, {3, 1}}}, type, {5, 3, 67});
  }
}

TEST_P(Tiles, PdpdBroadcast) {
  expect_tiles("Add", {{"auto_broadcast", "pdpd"}, {"auto_broadcast.auto_broadcast_axis", "1"}},
               {{element::i32, {5, 3, 67}}, {element::i32, {3}}}, element::i32, {5, 3, 67});
}

TEST_P(Tiles, EveryConversion) {
  for (const element::Type_t from : kConvertible)
    for (const element::Type_t to : kConvertible) {
      if (from == element::f64 && (to == element::f8e4m3 || to == element::f8e5m2)) continue;
      const std::string name = element::Type(to).get_type_name();
      for (const int64_t n : {1, 64, 997, 9001})
        expect_tiles("Convert", {{"destination_type", name}}, {{from, {n}}}, to, {n});
    }
}

TEST_P(Tiles, EightBitFloatsOfEveryBoundary) {
  // All codes, and the middles between neighbours with the floats next to them.
  for (const element::Type to : {element::f8e4m3, element::f8e5m2}) {
    const ir::OpSchema& schema = *ops::builtin_registry().find("Convert", "opset16");
    const auto attributes = schema.make_attributes();
    test::set_attributes(*attributes, {{"destination_type", "f32"}});
    std::vector<uint8_t> codes(128);
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint8_t>(i);
    std::vector<float> values(128), probes;
    const ir::TensorView code_view{to, {128}, codes.data()};
    ir::MutableTensorView value_view{element::f32, {128}, values.data()};
    schema.reference({*attributes, std::span(&code_view, 1), std::span(&value_view, 1)});
    for (size_t i = 0; i + 1 < values.size(); ++i) {
      const float middle = (values[i] + values[i + 1]) / 2;
      for (const float x : {values[i], middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)}) {
        probes.push_back(x);
        probes.push_back(-x);
      }
    }
    probes.insert(probes.end(), {447.9f, 448.1f, 464.0f, 480.0f, 512.0f, 61439.99f, 61440.0f, 65535.9f, 65536.0f});
    probes.resize((probes.size() + 63) / 64 * 64, 0.0f);
    std::vector<uint8_t> want(probes.size()), got(probes.size());
    const auto narrow = schema.make_attributes();
    test::set_attributes(*narrow, {{"destination_type", to.get_type_name()}});
    const ir::TensorView probe_view{element::f32, {static_cast<int64_t>(probes.size())}, probes.data()};
    ir::MutableTensorView want_view{to, probe_view.dims, want.data()};
    schema.reference({*narrow, std::span(&probe_view, 1), std::span(&want_view, 1)});
    cpu::TileProgram program(isa(), probe_view.dims);
    const int x = program.add_input(0, probe_view.dims, 4);
    const cpu::StepView view{schema,
                             *narrow,
                             {{element::f32, PartialShape(ir::to_shape(probe_view.dims))}},
                             {nullptr},
                             {to, PartialShape(ir::to_shape(probe_view.dims))}};
    ASSERT_TRUE(program.finish(std::get<int>(cpu::lower(view, std::span(&x, 1), isa(), program))));
    const void* inputs[] = {probes.data()};
    void* outputs[] = {got.data()};
    program.run({inputs, outputs, nullptr, {}, parallel::Arena(1)});
    for (size_t i = 0; i < probes.size(); ++i) ASSERT_EQ(want[i], got[i]) << to << " of " << probes[i];
  }
}

TERROIR_INSTANTIATE_PER_ISA(Tiles);

}  // namespace
}  // namespace terroir::testing
