// Einsum as matrix products: graph text before and after, what stays, and the values.
#include <gtest/gtest.h>

#include "ops/registry.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "tests/passes/golden.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/passes/planned.hpp"

namespace terroir::test {
namespace {

ir::Pass decompose_einsum() { return ops::decompose_einsum(ops::builtin_registry()); }

GraphMaker einsum(const std::string& equation, const std::vector<ir::Dims>& shapes) {
  GraphMaker m;
  std::vector<ir::Value> inputs;
  for (const ir::Dims& dims : shapes) inputs.push_back(m.input(PartialShape(ir::to_shape(dims))));
  m.result(m.op("Einsum", inputs, {{"equation", equation}}));
  return m;
}

void check_einsum(const std::string& equation, const std::vector<ir::Dims>& shapes) {
  SCOPED_TRACE(equation);
  const GraphMaker m = einsum(equation, shapes);
  const auto plan = plan_of(m);
  for (const auto& step : plan->steps) EXPECT_NE(step.type, "Einsum");
  expect_same_as_interpreter(m);
}

TEST(DecomposeEinsum, MatrixProduct) {
  expect_rewrite("einsum_attention", einsum("bqhd,bkhd->bhqk", {{2, 5, 3, 4}, {2, 7, 3, 4}}).graph(),
                 {decompose_einsum()});
}

TEST(DecomposeEinsum, ThreeOperands) {
  expect_rewrite("einsum_three", einsum("ij,jk,kl->il", {{30, 2}, {2, 40}, {40, 3}}).graph(), {decompose_einsum()});
}

TEST(DecomposeEinsum, DiagonalsAndBroadcasting) {
  expect_rewrite("einsum_diagonal", einsum("ibi,...b->...i", {{3, 4, 3}, {2, 1, 4}}).graph(), {decompose_einsum()});
}

TEST(DecomposeEinsum, ProductsOfTwo) {
  check_einsum("ij,jk->ik", {{5, 7}, {7, 3}});
  check_einsum("ij,jk->ki", {{5, 7}, {7, 3}});
  check_einsum("ji,kj->ik", {{7, 5}, {3, 7}});
  check_einsum("ij,kj", {{5, 7}, {3, 7}});
  check_einsum("bij,bjk->bik", {{4, 5, 7}, {4, 7, 3}});
  check_einsum("ibj,jkb->bik", {{5, 4, 7}, {7, 3, 4}});
  check_einsum("bij,bjk->ikb", {{4, 5, 7}, {4, 7, 3}});
  check_einsum("abcd,cdef->abef", {{2, 3, 4, 5}, {4, 5, 6, 7}});
  check_einsum("acbd,dcef->feab", {{2, 4, 3, 5}, {5, 4, 6, 7}});
  check_einsum("bhqk,bkhd->bqhd", {{2, 3, 5, 7}, {2, 7, 3, 4}});
  check_einsum("...ij,...jk->...ik", {{2, 1, 3, 4}, {5, 4, 6}});
  check_einsum("...ij,jk", {{2, 3, 4}, {4, 5}});
}

TEST(DecomposeEinsum, VectorsAndNumbers) {
  check_einsum("i,i->", {{131}, {131}});
  check_einsum("i,j->ij", {{5}, {7}});
  check_einsum("i,j->ji", {{5}, {7}});
  check_einsum("ij,j->i", {{37, 19}, {19}});
  check_einsum("i,ij->j", {{37}, {37, 19}});
  check_einsum("bij,bj->bi", {{3, 5, 7}, {3, 7}});
  check_einsum("bi,bi->b", {{5, 67}, {5, 67}});
  check_einsum("ij,ij->ij", {{5, 7}, {5, 7}});
  check_einsum("ij,ji->ij", {{5, 7}, {7, 5}});
  check_einsum(",ij->ji", {{}, {5, 7}});
  check_einsum(",->", {{}, {}});
}

TEST(DecomposeEinsum, OneOperand) {
  check_einsum("ij->ji", {{5, 7}});
  check_einsum("ij->i", {{5, 7}});
  check_einsum("ij->", {{5, 7}});
  check_einsum("ii->i", {{5, 5}});
  check_einsum("ii", {{5, 5}});
  check_einsum("iji->j", {{5, 3, 5}});
  check_einsum("iii->i", {{4, 4, 4}});
  check_einsum("ijij->ji", {{3, 4, 3, 4}});
  check_einsum("...i->i...", {{2, 3, 4}});
  check_einsum("a...->a", {{2, 3, 4}});
}

TEST(DecomposeEinsum, SumsOverOneOperandAlone) {
  check_einsum("ij,kl->ik", {{5, 7}, {3, 2}});
  check_einsum("ijk,j->j", {{2, 3, 4}, {3}});
  check_einsum("aab,bcc->ac", {{3, 3, 4}, {4, 5, 5}});
}

TEST(DecomposeEinsum, ExtentsOfOne) {
  check_einsum("ij,jk->ik", {{5, 1}, {7, 3}});
  check_einsum("ij,jk->ik", {{1, 7}, {7, 1}});
  check_einsum("bij,bjk->bik", {{1, 5, 7}, {4, 7, 3}});
  check_einsum("ij,ij->ij", {{1, 7}, {5, 1}});
  check_einsum("ij->ij", {{1, 1}});
}

TEST(DecomposeEinsum, ManyOperands) {
  check_einsum("ab,bc,cd,de->ae", {{2, 3}, {3, 4}, {4, 5}, {5, 6}});
  check_einsum("bhd,bhd,bh->bd", {{2, 3, 4}, {2, 3, 4}, {2, 3}});
  check_einsum("i,j,k->kij", {{2}, {3}, {4}});
  check_einsum("ij,jk,ik->", {{3, 4}, {4, 5}, {3, 5}});
}

TEST(DecomposeEinsum, ExtentsKnownAtRunTime) {
  GraphMaker m;
  m.result(m.op("Einsum", {m.input(PartialShape("?,?,4")), m.random({4, 3, 5}, 1)}, {{"equation", "bti,ijk->bjkt"}}));
  const std::vector<std::vector<HostTensor>> inputs = {{random_tensor({2, 7, 4}, 1)}, {random_tensor({1, 3, 4}, 2)}};
  expect_same_as_interpreter(m.graph(), inputs);
}

// They wrap around in every step as they would in the last one.
TEST(DecomposeEinsum, Integers) {
  for (const auto& [type, scale] : {std::pair{"i32", 2e9f}, {"i64", 9e18f}, {"i8", 120.0f}, {"i16", 100.0f}})
    for (const char* equation : {"bij,bjk->bik", "bij,bij,bij->bi", "bii,bik->b"}) {
      SCOPED_TRACE(::testing::Message() << type << ' ' << equation);
      GraphMaker m;
      std::vector<ir::Value> inputs;
      for (const char* at = equation; *at != '-'; at += *at == ',' ? 1 : 0) {
        const ir::Value real = m.op("Multiply", {m.input({3, 5, 5}), m.scalar(scale)});
        inputs.push_back(m.op("Convert", {real}, {{"destination_type", type}}));
        while (*at != ',' && *at != '-') ++at;
      }
      m.result(m.op("Einsum", inputs, {{"equation", equation}}));
      const auto plan = plan_of(m);
      for (const auto& step : plan->steps) EXPECT_NE(step.type, "Einsum");
      expect_same_as_interpreter(m, 0);
    }
}

TEST(DecomposeEinsum, Refuses) {
  GraphMaker m;
  m.result(m.op("Einsum", {m.input({2, 3}, element::f64), m.input({3, 4}, element::f64)}, {{"equation", "ij,jk->ik"}}));
  m.result(m.op("Einsum", {m.input({2, 0}), m.input({0, 4})}, {{"equation", "ij,jk->ik"}}));
  m.result(m.op("Einsum", {m.input(PartialShape("?,3")), m.input({3, 4})}, {{"equation", "ij,jk->ik"}}));
  expect_refusal(m.graph(), {decompose_einsum()});
}

}  // namespace
}  // namespace terroir::test
