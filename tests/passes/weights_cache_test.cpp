// Packed weights: who shares them, when they are there, and what happens when several plans are compiled at once.
#include "plugins/cpu/weights_cache.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "ir/base/mapped_file.hpp"
#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/constant_reader.hpp"
#include "plugins/cpu/nodes/convolution_problem.hpp"
#include "plugins/cpu/passes/layouts.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/caught.hpp"

namespace terroir::cpu {
namespace {

ir::Constant numbers(int64_t count) {
  auto buffer = std::make_shared<AlignedBuffer>(static_cast<size_t>(count) * sizeof(float));
  for (int64_t i = 0; i < count; ++i) buffer->as<float>()[i] = static_cast<float>(i);
  return {{element::f32, {count}, buffer->data()}, buffer};
}

/// Every number plus `offset`, in pieces of ten; counts the pieces.
Packing plus(const ir::Constant& constant, float offset, std::atomic<int64_t>* packed_pieces = nullptr) {
  const int64_t count = constant.view.count();
  Packing packing;
  packing.key = "plus " + std::to_string(offset);
  packing.bytes = static_cast<size_t>(count) * sizeof(float);
  packing.pieces = (count + 9) / 10;
  packing.pack = [=](const void* from, void* to, int64_t begin, int64_t end) {
    for (int64_t i = begin * 10; i < std::min(end * 10, count); ++i)
      static_cast<float*>(to)[i] = static_cast<const float*>(from)[i] + offset;
    if (packed_pieces) *packed_pieces += end - begin;
  };
  return packing;
}

void expect_plus(const PackedWeights& packed, int64_t count, float offset) {
  ASSERT_NE(packed->as<float>(), nullptr);
  for (int64_t i = 0; i < count; ++i) ASSERT_EQ(packed->as<float>()[i], static_cast<float>(i) + offset) << i;
}

TEST(WeightsCache, PacksOncePerConstantAndKey) {
  WeightsCache cache;
  const parallel::Arena arena(2);
  const ir::Constant a = numbers(101), b = numbers(37);
  std::atomic<int64_t> pieces{0};
  const PackedWeights first = cache.get(a, plus(a, 1, &pieces)), same = cache.get(a, plus(a, 1, &pieces));
  const PackedWeights other_key = cache.get(a, plus(a, 2, &pieces)), other = cache.get(b, plus(b, 1, &pieces));
  EXPECT_EQ(first, same);
  EXPECT_NE(first, other_key);
  EXPECT_NE(first, other);
  EXPECT_EQ(first->as<float>(), nullptr);  // not there before pack()
  cache.pack(arena);
  EXPECT_EQ(pieces, 11 + 11 + 4);
  expect_plus(first, 101, 1);
  expect_plus(other_key, 101, 2);
  expect_plus(other, 37, 1);
  for (const PackedWeights& packed : {first, other_key, other})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(packed->as<char>()) % kCacheLine, 0u);
  EXPECT_EQ(cache.get(a, plus(a, 1, &pieces)), first);
  cache.pack(arena);
  EXPECT_EQ(pieces, 26);
}

TEST(WeightsCache, GivesPiecesTheirRows) {
  // 1001 rows of 300 floats, three rows to a piece: tasks of several pieces, a last one with fewer rows.
  static constexpr int64_t kRows = 1001, kColumns = 300, kRowsOfPiece = 3;
  const ir::Constant a = numbers(kRows * kColumns);
  Packing packing;
  packing.key = "rows";
  packing.bytes = kRows * kColumns * sizeof(float);
  packing.pieces = (kRows + kRowsOfPiece - 1) / kRowsOfPiece;
  packing.row_bytes = kColumns * sizeof(float);
  packing.first_row = [](int64_t piece) { return std::min(piece * kRowsOfPiece, kRows); };
  std::atomic<int64_t> tasks{0};
  packing.pack = [&tasks](const void* from, void* to, int64_t begin, int64_t end) {
    ++tasks;
    const int64_t first = begin * kRowsOfPiece * kColumns, last = std::min(end * kRowsOfPiece, kRows) * kColumns;
    for (int64_t i = first; i < last; ++i)
      static_cast<float*>(to)[i] = static_cast<const float*>(from)[i - first] + 0.5f;
  };
  WeightsCache cache;
  const PackedWeights packed = cache.get(a, std::move(packing));
  cache.pack(parallel::Arena(3));
  EXPECT_GT(tasks, 1);
  for (int64_t i = 0; i < kRows * kColumns; ++i) ASSERT_EQ(packed->as<float>()[i], static_cast<float>(i) + 0.5f) << i;
}

TEST(ConstantReader, GivesTheBytesAtTheSamePlaceOfALine) {
  const std::filesystem::path path =
      std::filesystem::path(testing::TempDir()) / ("terroir_constant_" + std::to_string(::getpid()));
  std::string text(3 << 20, ' ');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i / 7 % 23);
  std::ofstream(path) << text;
  const MappedFile file(path);
  const parallel::Arena arena(3);
  ConstantReader reader(arena);
  EXPECT_EQ(&reader.arena(), &arena);
  // The largest piece of either kind in the middle; slots do not touch each other's.
  const std::vector<std::pair<size_t, size_t>> pieces = {
      {0, 1}, {100, 100000}, {4, ConstantReader::kMostBytes}, {60, ConstantReader::kMostBytes + 1}, {7, 70001}, {9, 0}};
  for (const auto& [begin, bytes] : pieces) {
    const void* read[3];
    for (size_t slot = 0; slot < 3; ++slot)
      read[slot] = reader.read(file.chars() + begin + slot * 64, bytes, static_cast<int64_t>(slot));
    for (size_t slot = 0; slot < 3; ++slot) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(read[slot]) % 64, begin % 64);
      EXPECT_EQ(std::memcmp(read[slot], text.data() + begin + slot * 64, bytes), 0) << begin << ", slot " << slot;
    }
  }
  std::vector<char> own(100000, 'o');
  EXPECT_EQ(reader.read(own.data(), own.size(), 2), own.data());
  std::filesystem::remove(path);
}

TEST(WeightsCache, PlansOfOtherExtentsShareWhatTheyCan) {
  test::GraphMaker m;
  const PartialShape any("1,16,?,?");
  auto x = m.op("ReLU", {m.input(any)});
  const std::vector<std::pair<std::string, std::string>> geometry = {
      {"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}};
  // One block of output channels, so that register tiles cannot differ in it.
  auto y = m.op("Convolution", {x, m.random({8, 16, 1, 1}, 1)}, geometry);
  auto rows = m.op("Transpose",
                   {m.op("GroupConvolution", {y, m.random({8, 1, 1, 5, 5}, 2)}, geometry), m.integers({0, 2, 3, 1})});
  m.result(m.op("MatMul", {rows, m.random({8, 12}, 3)}));
  WeightsCache cache;
  const parallel::Arena arena(2);
  const auto rewritten = rewrite_portable(m.graph());
  std::vector<std::unique_ptr<Plan>> plans;
  for (const int64_t extent : {9, 16, 33, 70}) {
    plans.push_back(compile_plan(bound_graph(rewritten->clone(), {{1, 16, extent, extent + 3}}), cache, {}, arena));
    EXPECT_EQ(cache.held(), 3u) << extent;
  }
  plans.clear();
  EXPECT_EQ(cache.held(), 0u);
}

TEST(WeightsCache, ConvolutionsKnowWhetherNoCacheKeepsTheModelsWeights) {
  for (const int64_t rows : {30, 34}) {
    SCOPED_TRACE(rows);
    test::GraphMaker m;
    const ir::Value x = m.input({1, 4, 2, 2});
    const ir::Value y = m.conv(x, 4, 1, 1, 1);
    m.result(y);
    const int64_t megabyte = int64_t{1} << 18;  // of floats
    m.result(m.op("MatMul", {m.input({1, rows}),
                             m.constant({rows, megabyte}, std::vector<float>(static_cast<size_t>(rows * megabyte)))}));
    WeightsCache cache;
    cache.expect(m.graph());
    test::GraphMaker part;  // of the model: a body, or what is left with other extents
    part.result(part.input({1}));
    cache.expect(part.graph());
    const NodeContext context = make_context(m.graph(), m.graph().node(y.node), Isa::scalar, cache);
    EXPECT_EQ(conv_problem(context).cold_weights, rows == 34);
  }
}

TEST(WeightsCache, PacksAgainWhatNobodyHolds) {
  WeightsCache cache;
  const parallel::Arena arena(1);
  const ir::Constant a = numbers(10);
  std::atomic<int64_t> pieces{0};
  cache.get(a, plus(a, 1, &pieces));
  cache.pack(arena);
  EXPECT_EQ(pieces, 0);  // the handle was dropped before
  const PackedWeights held = cache.get(a, plus(a, 1, &pieces));
  cache.pack(arena);
  EXPECT_EQ(pieces, 1);
  expect_plus(held, 10, 1);
}

TEST(WeightsCache, AnotherConstantAtTheSameAddressIsNotTheSame) {
  WeightsCache cache;
  const parallel::Arena arena(1);
  float value = 3;
  const ir::TensorView view{element::f32, {1}, &value};
  auto owner = std::make_shared<int>(0);
  const PackedWeights before = cache.get({view, owner}, plus({view, owner}, 1));
  cache.pack(arena);
  owner = std::make_shared<int>(1);
  const PackedWeights after = cache.get({view, owner}, plus({view, owner}, 1));
  EXPECT_NE(before, after);
}

TEST(WeightsCache, NorIsAnotherOneThatIsPackedWithIt) {
  WeightsCache cache;
  const parallel::Arena arena(1);
  const ir::Constant a = numbers(10);
  float value = 3;
  auto owner = std::make_shared<int>(0);
  const auto packing = [&] {
    Packing with = plus(a, 1);
    with.with = ir::Constant{{element::f32, {1}, &value}, owner};
    return with;
  };
  const PackedWeights before = cache.get(a, packing());
  cache.pack(arena);
  EXPECT_EQ(cache.get(a, packing()), before);
  owner = std::make_shared<int>(1);
  EXPECT_NE(cache.get(a, packing()), before);
}

TEST(WeightsCache, LetsAConstantGoOnceItIsPacked) {
  WeightsCache cache;
  ir::Constant a = numbers(1000);
  const std::weak_ptr<const void> owner = a.owner;
  const PackedWeights packed = cache.get(a, plus(a, 1));
  a = {};
  EXPECT_FALSE(owner.expired());
  cache.pack(parallel::Arena(2));
  EXPECT_TRUE(owner.expired());
  expect_plus(packed, 1000, 1);
}

TEST(WeightsCache, RefusesWhatCannotBeHadAndKeepsTheRest) {
  WeightsCache cache;
  const parallel::Arena arena(1);
  const ir::Constant a = numbers(50);
  const PackedWeights fits = cache.get(a, plus(a, 1));
  PackedWeights huge;
  {
    Packing packing = plus(a, 2);
    packing.bytes = size_t{1} << 60;
    huge = cache.get(a, std::move(packing));
  }
  EXPECT_EQ(caught([&] { cache.pack(arena); }).code(), ErrorCode::out_of_memory);
  huge.reset();  // its plan is given up
  cache.pack(arena);
  expect_plus(fits, 50, 1);
}

TEST(WeightsCache, ServesPlansThatAreCompiledAtOnce) {
  constexpr int kThreads = 4, kRounds = 50, kConstants = 6;
  for (int round = 0; round < kRounds; ++round) {
    WeightsCache cache;
    const parallel::Arena arena(2);
    std::vector<ir::Constant> constants;
    for (int i = 0; i < kConstants; ++i) constants.push_back(numbers(100 + 10 * i));
    std::atomic<int64_t> pieces{0};
    std::vector<std::vector<PackedWeights>> held(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (int i = 0; i < kConstants; ++i) {
          const ir::Constant& constant = constants[static_cast<size_t>((i + t) % kConstants)];
          held[static_cast<size_t>(t)].push_back(cache.get(constant, plus(constant, 1, &pieces)));
        }
        cache.pack(arena);
        for (const PackedWeights& packed : held[static_cast<size_t>(t)])
          EXPECT_EQ(packed->as<float>() ? packed->as<float>()[99] : 0, 100);
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(pieces, 10 + 11 + 12 + 13 + 14 + 15) << "each constant is packed once";
  }
}

}  // namespace
}  // namespace terroir::cpu
