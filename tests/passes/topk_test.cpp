// TopK on the CPU device against the interpreter: the same bits, on every instruction set, with 1 and 2 threads.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

/// Few different values, so that many are equal; NaN and infinities where the type has them.
template <class T>
HostTensor values_with_ties(const ir::Dims& dims) {
  HostTensor tensor(element::from<T>(), dims);
  std::mt19937 engine(5);
  for (int64_t i = 0; i < tensor.view().count(); ++i) {
    const uint32_t draw = engine() % 64;
    T& value = tensor.writable().as<T>()[i];
    if constexpr (std::is_integral_v<T>) {
      const T ends[] = {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
      value = draw < 4 ? ends[draw % 2] : static_cast<T>(draw % 16);
    } else {
      constexpr float kInf = std::numeric_limits<float>::infinity();
      const float special[] = {std::numeric_limits<float>::quiet_NaN(), kInf, -kInf, -0.0f, 0.0f};
      value = static_cast<T>(draw < 5 ? special[draw] : static_cast<float>(draw % 16) - 8.0f);
    }
  }
  return tensor;
}

struct Selection {
  ir::Dims dims;
  int64_t axis, k;
  const char* sort = "value";
  const char* index_type = "i32";
};

template <class T>
void check_selection(const Selection& s) {
  SCOPED_TRACE(::testing::Message() << ::testing::PrintToString(s.dims) << " axis " << s.axis << " k " << s.k << ", "
                                    << s.sort);
  for (const char* mode : {"max", "min"}) {
    GraphMaker m;
    const ir::Value top = m.op(
        "TopK", {m.input(ir::to_shape(s.dims), element::from<T>()), m.scalar_integer(s.k)},
        {{"axis", std::to_string(s.axis)}, {"mode", mode}, {"sort", s.sort}, {"index_element_type", s.index_type}});
    m.result(top);
    m.result({top.node, 1});
    std::vector<std::vector<HostTensor>> inputs(1);
    inputs[0].push_back(values_with_ties<T>(s.dims));
    expect_same_as_interpreter(m.graph(), inputs, 0);
  }
}

TEST(TopK, FewAndManyOfARow) {
  for (const int64_t extent : {1, 2, 15, 16, 17, 67, 131, 1000})
    for (const int64_t k : {int64_t{1}, int64_t{2}, int64_t{5}, extent / 2, extent - 1, extent})
      if (k >= 1 && k <= extent) check_selection<float>({{5, extent}, 1, k});
}

// Rows whose parts tell what is worth keeping: all the same, sorted both ways, of denormal numbers, of none.
TEST(TopK, LongRows) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<std::function<float(int64_t)>> rows = {
      [](int64_t) { return 1.5f; },
      [](int64_t i) { return static_cast<float>(i) - 300; },
      [](int64_t i) { return 300 - static_cast<float>(i); },
      [](int64_t i) { return static_cast<float>(i * 7919 % 2003) * 1e-43f; },
      [](int64_t i) { return i % 3 == 0 ? -0.0f : 0.0f; },
      [=](int64_t i) { return i % 700 == 5 ? 1.0f : nan; },
      [=](int64_t i) { return i % 2 == 0 ? inf : -inf; },
      [](int64_t i) { return (i % 2 == 0 ? -1 : 1) * std::numeric_limits<float>::max(); },
      [](int64_t i) { return static_cast<float>(i * 7919 % 2003); }};
  HostTensor data(element::f32, {static_cast<int64_t>(rows.size()), 2003});
  for (int64_t i = 0; i < data.view().count(); ++i)
    data.writable().as<float>()[i] = rows[static_cast<size_t>(i / 2003)](i % 2003);
  for (const char* mode : {"max", "min"})
    for (const int64_t k : {1, 4, 16, 33, 62}) {
      SCOPED_TRACE(::testing::Message() << mode << " k " << k);
      GraphMaker m;
      const ir::Value top = m.op("TopK", {m.input({static_cast<int64_t>(rows.size()), 2003}), m.scalar_integer(k)},
                                 {{"axis", "1"}, {"mode", mode}, {"sort", "value"}});
      m.result(top);
      m.result({top.node, 1});
      std::vector<std::vector<HostTensor>> inputs(1);
      inputs[0].push_back(data);
      expect_same_as_interpreter(m.graph(), inputs, 0);
    }
}

TEST(TopK, OrdersOfTheResult) {
  for (const char* sort : {"value", "index", "none"})
    for (const int64_t k : {1, 7, 60}) check_selection<float>({{3, 67}, -1, k, sort, "i64"});
}

TEST(TopK, AnyAxis) {
  for (const int64_t axis : {0, 1, 2, 3})
    for (const int64_t k : {1, 3}) {
      check_selection<float>({{5, 7, 3, 19}, axis, k});
      check_selection<int16_t>({{5, 7, 3, 19}, axis, k, "index"});
    }
  for (const int64_t columns : {1, 15, 16, 17, 255, 256, 257})
    check_selection<float>({{2, 21, columns}, 1, 1, "value", "i64"});
  check_selection<float>({{1, 9000, 33}, 1, 4});
}

TEST(TopK, EveryType) {
  const auto all = [](auto... tags) {
    (check_selection<decltype(tags)>({{4, 131}, 1, 9}), ...);
    (check_selection<decltype(tags)>({{131, 3}, 0, 1, "index", "i64"}), ...);
  };
  all(float{}, double{}, float16{}, bfloat16{}, int8_t{}, int16_t{}, int32_t{}, int64_t{}, uint8_t{}, uint16_t{},
      uint32_t{}, uint64_t{});
}

TEST(TopK, NarrowTypesAreLeftToTheReference) {
  for (const char* type : {"i4", "u4", "f8e4m3"}) {
    GraphMaker m;
    const auto narrow =
        m.op("Convert", {m.op("Multiply", {m.input({3, 17}), m.scalar(7)})}, {{"destination_type", type}});
    const auto top =
        m.op("TopK", {narrow, m.scalar_integer(4)}, {{"axis", "1"}, {"mode", "max"}, {"sort", "value"}}, "top");
    m.result(m.op("Convert", {top}, {{"destination_type", "f32"}}));
    m.result({top.node, 1});
    expect_same_as_interpreter(m, 0);
    EXPECT_EQ(kernel_on_cpu(m.graph(), cpu::Isa::scalar, "top"), "ref:any") << type;
  }
}

TEST(TopK, RunsOnItsKernel) {
  GraphMaker m;
  m.result(m.op("TopK", {m.input({4, 1000}), m.scalar_integer(5)}, {{"axis", "1"}, {"mode", "max"}, {"sort", "value"}},
                "top"));
  for (const cpu::Isa isa : cpu::available_isas())
    EXPECT_EQ(kernel_on_cpu(m.graph(), isa, "top"), std::string("f32_topk__") + cpu::isa_name(isa));
}

}  // namespace
}  // namespace terroir::test
