// Fourier transforms on the CPU device against the interpreter, on every instruction set, with 1 and 2 threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

struct Transform {
  std::string type = "DFT";
  ir::Dims dims;  // of the numbers
  std::vector<int64_t> axes = {-1};
  std::vector<int64_t> sizes = {};
};

GraphMaker transform_model(const Transform& t) {
  GraphMaker m;
  ir::Dims dims = t.dims;
  if (t.type != "RDFT") dims.push_back(2);
  std::vector<ir::Value> in = {m.input(PartialShape(ir::to_shape(dims))), m.integers(t.axes)};
  if (!t.sizes.empty()) in.push_back(m.integers(t.sizes));
  m.result(m.op(t.type, in, {}, "transform"));
  return m;
}

void check_transform(const Transform& t) {
  SCOPED_TRACE(::testing::Message() << t.type << ' ' << ::testing::PrintToString(t.dims) << " axes "
                                    << ::testing::PrintToString(t.axes) << " sizes "
                                    << ::testing::PrintToString(t.sizes));
  const GraphMaker m = transform_model(t);
  expect_same_as_interpreter(m);
  EXPECT_NE(kernel_on_cpu(m.graph(), cpu::Isa::scalar, "transform"), "ref:any");
}

const std::vector<std::string> kTransforms = {"DFT", "IDFT", "RDFT", "IRDFT"};

TEST(Fourier, Lengths) {
  // Of each radix, of products of them, and with prime factors that need a convolution.
  for (const std::string& type : kTransforms)
    for (const int64_t n :
         {2, 3, 4, 5, 6, 7, 8, 11, 12, 15, 16, 30, 47, 53, 60, 64, 77, 94, 106, 120, 131, 262, 512, 1009})
      check_transform({type, {3, n}});
}

// Lines of all numbers around the kernels' lanes, side by side or one after another.
TEST(Fourier, NumbersOfLines) {
  for (const std::string& type : kTransforms)
    for (const int64_t lines : {1, 3, 4, 5, 8, 15, 16, 17, 33}) {
      check_transform({type, {lines, 12}});
      check_transform({type, {12, lines}, {0}});
      check_transform({type, {2, 9, lines}, {1}});
    }
}

TEST(Fourier, SeveralAxes) {
  for (const std::string& type : kTransforms) {
    check_transform({type, {4, 6, 10}, {1, 2}});
    check_transform({type, {4, 6, 10}, {2, 0}});
    check_transform({type, {4, 6, 10}, {0, 1, 2}});
    check_transform({type, {4, 6, 10}, {-1, -3, -2}});
    check_transform({type, {6, 10}, {1}});
  }
}

// Transformed as matrices.
TEST(Fourier, LongLines) {
  for (const char* type : {"DFT", "IDFT"})
    for (const int64_t n : {4095, 4096, 4620, 5000, 6561, 2209 * 2}) {
      check_transform({type, {n}, {0}});
      check_transform({type, {3, n}, {1}});
      check_transform({type, {2, n}, {1, 0}});
      check_transform({type, {2, n}, {0, 1}});
    }
  for (const char* type : {"RDFT", "IRDFT"})
    for (const int64_t n : {8190, 8192, 9240, 10000, 13122, 4418 * 2, 8193}) {
      const int64_t numbers = type[0] == 'I' ? n / 2 + 1 : n;
      const std::vector<int64_t> size = {n};
      check_transform({type, {numbers}, {0}, size});
      check_transform({type, {3, numbers}, {1}, size});
      check_transform({type, {2, numbers + 3}, {1}, size});
      check_transform({type, {2, numbers - 1}, {1}, size});
    }
  check_transform({"RDFT", {2, 8192}, {1, 0}});
  check_transform({"RDFT", {2, 8192}, {0, 1}});
  check_transform({"IRDFT", {2, 4097}, {0, 1}});
  check_transform({"IRDFT", {3, 4096, 2}, {1, 2}});
  check_transform({"DFT", {2, 4096}, {1, 0}, {4096, 3}});
  check_transform({"DFT", {2, 4000}, {1, 0}, {4096, 3}});
}

TEST(Fourier, SignalSizes) {
  for (const std::string& type : kTransforms)
    for (const int64_t size : {1, 2, 3, 7, 8, 9, 20, 21}) {
      check_transform({type, {3, 8}, {1}, {size}});
      check_transform({type, {8, 9}, {0, 1}, {size, -1}});
      check_transform({type, {8, 9}, {1, 0}, {-1, size}});
      check_transform({type, {8, 9, 5}, {0, 1}, {6, size}});
    }
}

TEST(Fourier, NanSpoilsItsOwnLineOnly) {
  for (const std::string& type : kTransforms) {
    const GraphMaker m = transform_model({type, {17, 12}});
    std::vector<std::vector<HostTensor>> inputs = {{random_tensor(m.dims(m.inputs()[0]), 1)}};
    const int64_t line = inputs[0][0].view().count() / 17;
    inputs[0][0].writable().as<float>()[3 * line + 5] = std::numeric_limits<float>::quiet_NaN();
    for (const cpu::Isa isa : cpu::available_isas()) {
      const auto results = run_on_cpu(m.graph(), isa, 1, inputs);
      const HostTensor& result = results[0][0];
      const int64_t extent = result.view().count() / 17;
      int64_t spoilt = 0;
      for (int64_t i = 0; i < result.view().count(); ++i) {
        if (i / extent == 3)
          spoilt += std::isnan(result.as<float>()[i]) ? 1 : 0;
        else
          ASSERT_FALSE(std::isnan(result.as<float>()[i])) << type << ' ' << i;
      }
      EXPECT_GE(spoilt, extent / 2);
    }
  }
}

TEST(Fourier, NanSpoilsItsOwnLongLineOnly) {
  for (const char* type : {"RDFT", "IRDFT"}) {
    const GraphMaker m = transform_model({type, {3, type[0] == 'I' ? 4097 : 8192}});
    std::vector<std::vector<HostTensor>> inputs = {{random_tensor(m.dims(m.inputs()[0]), 1)}};
    inputs[0][0].writable().as<float>()[inputs[0][0].view().count() / 2] = std::numeric_limits<float>::quiet_NaN();
    const auto results = run_on_cpu(m.graph(), cpu::active_isa(), 2, inputs);
    const int64_t extent = results[0][0].view().count() / 3;
    for (int64_t i = 0; i < 3 * extent; ++i) {
      if (i / extent == 1) continue;
      ASSERT_FALSE(std::isnan(results[0][0].as<float>()[i])) << type << ' ' << i;
    }
    EXPECT_TRUE(std::isnan(results[0][0].as<float>()[extent + extent / 2])) << type;
  }
}

TEST(Fourier, ALineAloneHasTheSameBits) {
  for (const std::string& type : kTransforms)
    for (const int64_t n : {12, 53, 4096, 8192}) {
      const GraphMaker many = transform_model({type, {19, n}}), one = transform_model({type, {1, n}});
      const std::vector<std::vector<HostTensor>> inputs = {{random_tensor(many.dims(many.inputs()[0]), 1)}};
      std::vector<std::vector<HostTensor>> alone = {{random_tensor(one.dims(one.inputs()[0]), 2)}};
      const size_t line = alone[0][0].view().bytes();
      std::memcpy(alone[0][0].writable().data, static_cast<const char*>(inputs[0][0].view().data) + 17 * line, line);
      const auto all = run_on_cpu(many.graph(), cpu::active_isa(), 2, inputs);
      const auto result = run_on_cpu(one.graph(), cpu::active_isa(), 2, alone);
      const size_t bytes = result[0][0].view().bytes();
      EXPECT_EQ(
          std::memcmp(static_cast<const char*>(all[0][0].view().data) + 17 * bytes, result[0][0].view().data, bytes), 0)
          << type << ' ' << n;
    }
}

ir::Value stft(GraphMaker& m, const ir::Dims& signal, int64_t window, int64_t size, int64_t step, bool transposed) {
  return m.op(
      "STFT",
      {m.input(PartialShape(ir::to_shape(signal))), m.input({window}), m.scalar_integer(size), m.scalar_integer(step)},
      {{"transpose_frames", transposed ? "true" : "false"}}, "frames");
}

TEST(Fourier, Stft) {
  for (const bool transposed : {false, true})
    for (const int64_t size : {1, 9, 16, 20})
      for (const int64_t step : {1, 5, 16}) {
        SCOPED_TRACE(::testing::Message() << size << ' ' << step << ' ' << transposed);
        GraphMaker m;
        m.result(stft(m, {3, 100}, size, size, step, transposed));
        expect_same_as_interpreter(m);
        EXPECT_NE(kernel_on_cpu(m.graph(), cpu::Isa::scalar, "frames"), "ref:any");
      }
  GraphMaker m;
  m.result(stft(m, {64}, 11, 16, 4, true));  // a window shorter than the frame, no batch
  expect_same_as_interpreter(m);
}

TEST(Fourier, Istft) {
  for (const char* center : {"false", "true"})
    for (const char* normalized : {"false", "true"})
      for (const int64_t length : {-1, 20, 90}) {
        SCOPED_TRACE(::testing::Message() << center << ' ' << normalized << ' ' << length);
        GraphMaker m;
        const int64_t size = length == 90 ? 16 : 9;
        std::vector<ir::Value> in = {m.input({2, size / 2 + 1, 7, 2}), m.random({size - 2}, 1), m.scalar_integer(size),
                                     m.scalar_integer(5)};
        if (length > 0) in.push_back(m.scalar_integer(length));
        m.result(m.op("ISTFT", in, {{"center", center}, {"normalized", normalized}}, "signal"));
        // Where windows hardly reach, their small sum divides.
        expect_same_as_interpreter(m, 1e-3);
        EXPECT_NE(kernel_on_cpu(m.graph(), cpu::Isa::scalar, "signal"), "ref:any");
      }
}

}  // namespace
}  // namespace terroir::test
