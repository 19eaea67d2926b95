// Inverse on the CPU device against the interpreter, on every instruction set, with 1 and 2 threads.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/passes/graph_maker.hpp"

namespace terroir::test {
namespace {

void check_kernel(const GraphMaker& m, ir::Value inverse, const std::string& type) {
  for (const cpu::Isa isa : cpu::available_isas())
    EXPECT_EQ(kernel_on_cpu(m.graph(), isa, m.graph().node(inverse.node).name),
              type + "_inverse__" + cpu::isa_name(isa));
}

// Around a vector, a panel of 16 columns and the columns that are updated at once; random, so every step finds its
// pivot elsewhere.
TEST(Inverses, OfOneMatrix) {
  for (const int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 33, 64, 95, 97, 130}) {
    SCOPED_TRACE(n);
    GraphMaker m;
    const ir::Value inverse = m.op("Inverse", {m.input({n, n})});
    m.result(inverse);
    expect_same_as_interpreter(m, 1e-4);
    check_kernel(m, inverse, "f32");
  }
}

TEST(Inverses, OfManyMatricesAndAdjugates) {
  for (const int64_t n : {2, 5, 16, 20, 70})
    for (const char* adjoint : {"false", "true"}) {
      SCOPED_TRACE(::testing::Message() << n << " adjoint " << adjoint);
      GraphMaker m;
      m.result(m.op("Inverse", {m.input({3, 5, n, n})}, {{"adjoint", adjoint}}));
      expect_same_as_interpreter(m, 1e-4);
    }
}

TEST(Inverses, OfDoubles) {
  for (const int64_t n : {4, 18, 80}) {
    SCOPED_TRACE(n);
    GraphMaker m;
    // Rounding to f32 alone would differ more than this from the interpreter.
    const ir::Value wide = m.op("Convert", {m.input({2, n, n})}, {{"destination_type", "f64"}});
    const ir::Value inverse = m.op("Inverse", {wide});
    m.result(m.op("Subtract",
                  {m.op("MatMul", {wide, inverse}), m.op("Convert", {m.scalar(0.5)}, {{"destination_type", "f64"}})}));
    expect_same_as_interpreter(m, 1e-10);
    check_kernel(m, inverse, "f64");
  }
}

// Those of a batch lie in lanes, the last of them beside none; what is singular in one of them is no other's affair.
TEST(Inverses, OfManySmallMatrices) {
  for (const int64_t n : {1, 2, 3, 4, 7, 8})
    for (const int64_t count : {4, 8, 21, 300})
      for (const char* adjoint : {"false", "true"}) {
        SCOPED_TRACE(::testing::Message() << count << " of " << n << " adjoint " << adjoint);
        GraphMaker m;
        m.result(m.op("Inverse", {m.input({count, n, n})}, {{"adjoint", adjoint}}));
        HostTensor matrices = random_tensor({count, n, n}, 11);
        std::fill_n(matrices.writable().as<float>() + 2 * n * n, n * n, 0.0f);
        const std::vector<std::vector<HostTensor>> inputs = {{matrices}};
        expect_same_as_interpreter(m.graph(), inputs, 1e-4);
      }
}

// The bits of a matrix do not depend on how many there are beside it.
TEST(Inverses, AreThoseOfTheMatrixAlone) {
  for (const int64_t n : {3, 8}) {
    GraphMaker m;
    m.result(m.op("Inverse", {m.input({-1, n, n})}));
    DeviceModel device(std::shared_ptr<const ir::Graph>(m.graph().clone()), "CPU");
    const HostTensor many = random_tensor({9, n, n}, 3);
    HostTensor one(element::f32, {1, n, n});
    std::copy_n(many.view().as<float>(), n * n, one.writable().as<float>());
    const auto of_many = device.infer(std::vector{many}), of_one = device.infer(std::vector{one});
    EXPECT_TRUE(
        std::equal(of_one[0].view().as<float>(), of_one[0].view().as<float>() + n * n, of_many[0].view().as<float>()));
  }
}

// What is not finite is where the interpreter has it; the other matrices of the batch are inverted all the same.
TEST(Inverses, OfSingularMatrices) {
  constexpr int64_t kSide = 20;
  for (const char* adjoint : {"false", "true"}) {
    GraphMaker m;
    m.result(m.op("Inverse", {m.input({3, kSide, kSide})}, {{"adjoint", adjoint}}));
    HostTensor matrices = random_tensor({3, kSide, kSide}, 5);
    auto* second = matrices.writable().as<float>() + kSide * kSide;
    for (int64_t i = 0; i < kSide * kSide; ++i) second[i] = i % (kSide + 1) == 0 && i != 18 * (kSide + 1) ? 2.0f : 0.0f;
    const std::vector<std::vector<HostTensor>> inputs = {{matrices}};
    expect_same_as_interpreter(m.graph(), inputs, 1e-4);
  }
}

}  // namespace
}  // namespace terroir::test
