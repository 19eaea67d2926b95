// Layers that only move or compare bytes take them in blocks of channels, as layers that compute in bytes do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ops/registry.hpp"
#include "plugins/cpu/compile.hpp"
#include "plugins/cpu/passes/fuse_post_ops.hpp"
#include "plugins/cpu/passes/layouts.hpp"
#include "plugins/cpu/passes/quantize_convolutions.hpp"
#include "plugins/cpu/weights_cache.hpp"
#include "plugins/interpreter/interpreter.hpp"
#include "tests/passes/graph_maker.hpp"
#include "tests/support/random.hpp"

namespace terroir::test {
namespace {

/// The buckets of this machine that have bytes in blocks.
std::vector<cpu::Isa> buckets() {
  std::vector<cpu::Isa> found;
  for (const cpu::Isa isa : {cpu::Isa::avx2, cpu::Isa::avx512})
    if (cpu::isa_available(isa)) found.push_back(isa);
  return found;
}

/// The name that a kernel of AVX-512 has on a bucket.
std::string name_on(cpu::Isa isa, std::string name) {
  if (isa == cpu::Isa::avx512) return name;
  for (const auto& [from, to] : {std::pair<std::string, std::string>("16c", "8c"), {"avx512", "avx2"}})
    if (const size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
  return name;
}

/// By channels of a block, the name of a kernel on AVX-512.
using KernelName = std::function<std::string(int64_t block)>;
KernelName always(const std::string& name) {
  return [name](int64_t) { return name; };
}

ir::Value largest_of(GraphMaker& m, ir::Value x, const AttributeTexts& window, const std::string& name = {},
                     const char* opset = "opset16") {
  AttributeTexts all = window;
  const size_t axes = m.dims(x).size() - 2;
  for (const auto& [key, element] :
       {std::pair("strides", "1"), {"dilations", "1"}, {"pads_begin", "0"}, {"pads_end", "0"}, {"kernel", "2"}}) {
    if (std::any_of(window.begin(), window.end(), [&](const auto& given) { return given.first == key; })) continue;
    if (std::string(opset) == "opset1" && std::string(key) == "dilations") continue;
    std::string text = element;
    for (size_t i = 1; i < axes; ++i) text += std::string(",") + element;
    all.emplace_back(key, text);
  }
  return m.op("MaxPool", {x}, all, name, opset);
}

/// Random bytes for each input.
std::vector<std::vector<HostTensor>> bytes_for(const GraphMaker& m) {
  std::vector<HostTensor> inputs;
  for (const ir::Value& input : m.inputs()) {
    Random random(inputs.size() + 3);
    inputs.emplace_back(element::u8, m.dims(input));
    const ir::MutableTensorView view = inputs.back().writable();
    for (int64_t i = 0; i < view.count(); ++i) view.as<uint8_t>()[i] = static_cast<uint8_t>(random.between(0, 255));
  }
  return {inputs};
}

void expect_bytes(const GraphMaker& m, const KernelName& kernel, const std::string& name = "moved") {
  expect_same_as_interpreter(m.graph(), bytes_for(m), 0);
  for (const cpu::Isa isa : buckets())
    EXPECT_EQ(kernel_on_cpu(m.graph(), isa, name), name_on(isa, kernel(cpu::channel_block(isa)))) << name;
}

TEST(BytesInBlocks, MaxPool) {
  const std::pair<const char*, AttributeTexts> windows[] = {
      {"13,17", {{"kernel", "3,3"}, {"strides", "2,2"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}}},
      {"13,17", {{"kernel", "3,3"}, {"strides", "2,2"}, {"rounding_type", "ceil"}}},
      {"13,17", {{"kernel", "2,3"}, {"strides", "3,1"}, {"dilations", "2,3"}, {"pads_end", "1,2"}}},
      {"1,1", {{"kernel", "3,3"}, {"pads_begin", "1,1"}, {"pads_end", "1,1"}}},
      {"9,8", {{"kernel", "5,5"}, {"auto_pad", "same_upper"}, {"strides", "1,2"}}},
      {"7,7", {{"kernel", "7,7"}}},
      {"19", {{"kernel", "4"}, {"strides", "3"}, {"pads_begin", "2"}}},
      {"3,5,6", {{"kernel", "2,3,3"}, {"strides", "1,2,1"}, {"pads_begin", "1,0,1"}}},
  };
  for (const auto& [extents, window] : windows)
    for (const int64_t channels : {1, 3, 16, 17, 40}) {
      SCOPED_TRACE(testing::Message() << channels << " x " << extents);
      const std::string shape = "2," + std::to_string(channels) + "," + extents;
      for (const char* opset : {"opset1", "opset8", "opset16"}) {
        const bool dilated =
            std::any_of(window.begin(), window.end(), [](const auto& a) { return a.first == "dilations"; });
        if (dilated && std::string(opset) == "opset1") continue;
        GraphMaker m;
        const ir::Value y = largest_of(m, m.input(PartialShape(shape), element::u8), window, "moved", opset);
        m.result(y);
        const char* layouts[] = {"nCw16c", "nChw16c", "nCdhw16c"};
        expect_bytes(m, always(std::string("u8_max_pool_") + layouts[m.dims(y).size() - 3] + "__avx512"));
      }
    }
}

using Move = std::function<ir::Value(GraphMaker&, ir::Value)>;

/// Between two poolings.
void expect_moved_in_blocks(const char* shape, const KernelName& kernel, const Move& move) {
  SCOPED_TRACE(testing::Message() << shape << ' ' << kernel(16));
  GraphMaker m;
  const ir::Value x = largest_of(m, m.input(PartialShape(shape), element::u8), {});
  m.result(largest_of(m, move(m, x), {}));
  expect_bytes(m, kernel);
}

TEST(BytesInBlocks, Interpolate) {
  for (const char* shape : {"1,16,6,8", "2,17,4,5", "1,3,4,14"})
    for (const int64_t factor : {2, 3})
      expect_moved_in_blocks(shape, always("u8_nearest_nChw16c__avx512"), [&](GraphMaker& m, ir::Value x) {
        const ir::Dims dims = m.dims(x);
        return m.op("Interpolate", {x, m.integers({dims[2] * factor, dims[3] * factor + 1}), m.integers({2, 3})},
                    {{"mode", "nearest"}, {"shape_calculation_mode", "sizes"}}, "moved");
      });
}

TEST(BytesInBlocks, Slices) {
  for (const char* shape : {"2,40,6,19", "1,17,5,4"}) {
    expect_moved_in_blocks(shape, always("slice_nChw16c"), [](GraphMaker& m, ir::Value x) {
      return m.op("Slice", {x, m.integers({1, 0}), m.integers({5, 100}), m.integers({1, 2}), m.integers({2, 3})}, {},
                  "moved");
    });
    expect_moved_in_blocks(shape, always("pad_nChw16c"), [](GraphMaker& m, ir::Value x) {
      return m.op("Pad", {x, m.integers({0, 0, 1, 2}), m.integers({0, 0, 0, 1})}, {{"pad_mode", "constant"}}, "moved");
    });
  }
  // Whole blocks of channels; of one image they are a view.
  for (const char* shape : {"2,72,6,9", "1,72,6,9"})
    for (const auto& [first, end] : {std::pair(16, 48), {32, 72}, {0, 16}})
      expect_moved_in_blocks(shape, always(shape[0] == '1' ? "" : "slice_nChw16c"), [&](GraphMaker& m, ir::Value x) {
        return m.op("Slice", {x, m.integers({first}), m.integers({end}), m.integers({1}), m.integers({1})}, {},
                    "moved");
      });
  // Others end in blocks that would hold more than zeros.
  for (const auto& [first, end, step] :
       {std::tuple(8, 40, 1), {16, 40, 1}, {4, 40, 1}, {8, 36, 1}, {0, 72, 2}, {70, 3, -1}}) {
    const KernelName kernel = [first = first, end = end, step = step](int64_t block) {
      return step == 1 && first % block == 0 && end % block == 0 ? "slice_nChw16c" : "slice_nchw";
    };
    expect_moved_in_blocks("2,72,6,9", kernel, [&](GraphMaker& m, ir::Value x) {
      return m.op("Slice", {x, m.integers({first}), m.integers({end}), m.integers({step}), m.integers({1})}, {},
                  "moved");
    });
  }
}

TEST(BytesInBlocks, ConcatAndSplit) {
  for (const char* batch : {"1", "3"})
    for (const auto& [first, second] : {std::pair(16, 32), {32, 17}, {3, 5}, {17, 40}, {24, 24}}) {
      SCOPED_TRACE(testing::Message() << first << " and " << second << " of " << batch);
      GraphMaker m;
      const auto part = [&](int64_t channels) {
        const std::string shape = std::string(batch) + "," + std::to_string(channels) + ",13,7";
        return largest_of(m, m.input(PartialShape(shape), element::u8), {});
      };
      const ir::Value joined = m.op("Concat", {part(first), part(second)}, {{"axis", "1"}}, "moved");
      const ir::Value wide = largest_of(m, joined, {});
      const ir::Value parts =
          m.op("VariadicSplit", {wide, m.scalar_integer(1), m.integers({first, second})}, {}, "parts");
      m.result(largest_of(m, parts, {}));
      m.result(largest_of(m, {parts.node, 1}, {{"kernel", "1,3"}}));
      const auto named = [&, channels = first](const char* whole, const char* lanes) -> KernelName {
        return [=](int64_t block) {
          if (channels % block != 0) return lanes;
          return batch[0] == '1' ? "" : whole;
        };
      };
      expect_bytes(m, named("concat_nChw16c", "concat_lanes_nChw16c"));
      expect_bytes(m, named("split_nChw16c", "split_lanes_nChw16c"), "parts");
    }
}

TEST(BytesInBlocks, ConcatAndSplitAlongOtherAxes) {
  for (const char* shape : {"1,17,5,7", "2,33,5,7"})
    for (const int64_t axis : {0, 2, 3, -1}) {
      SCOPED_TRACE(testing::Message() << shape << " along " << axis);
      GraphMaker m;
      const ir::Value x = largest_of(m, m.input(PartialShape(shape), element::u8), {});
      const ir::Value y = largest_of(m, m.input(PartialShape(shape), element::u8), {});
      const ir::Value joined = m.op("Concat", {x, y}, {{"axis", std::to_string(axis)}}, "moved");
      const ir::Value wide = largest_of(m, joined, {{"kernel", "1,1"}});
      const int64_t extent = m.dims(wide)[static_cast<size_t>(axis < 0 ? axis + 4 : axis)];
      const ir::Value parts =
          m.op("VariadicSplit", {wide, m.scalar_integer(axis), m.integers({1, extent - 1})}, {}, "parts");
      m.result(largest_of(m, parts, {{"kernel", "1,1"}}));
      m.result(largest_of(m, {parts.node, 1}, {{"kernel", "1,1"}}));
      expect_bytes(m, always(axis == 0 ? "" : "concat_nChw16c"));
      expect_bytes(m, always(axis == 0 ? "" : "split_nChw16c"), "parts");
    }
}

/// A tensor in blocks, all of its memory.
std::vector<uint8_t> blocks_of(const HostTensor& plain, int64_t block) {
  const ir::Dims& dims = plain.view().dims;
  const int rank = static_cast<int>(dims.size());
  const cpu::TensorDesc from{element::u8, dims, cpu::Layout::plain(rank)},
      to{element::u8, dims, cpu::Layout::blocked(rank, static_cast<int>(block))};
  std::vector<uint8_t> blocks(to.bytes(), 0xee);
  cpu::reorder(from, plain.view().data, to, blocks.data(), cpu::best_isa());
  return blocks;
}

TEST(BytesInBlocks, ReordersWriteZerosBehindTheLastChannel) {
  for (const int64_t channels : {1, 3, 7, 8, 16, 17, 31, 40})
    for (const auto& [columns, block] :
         {std::pair<int64_t, int64_t>(1, 16), {5, 16}, {16, 16}, {35, 16}, {1, 8}, {5, 8}, {16, 8}, {35, 8}}) {
      HostTensor plain(element::u8, {2, channels, 3, columns});
      auto* const x = plain.writable().as<uint8_t>();
      for (int64_t i = 0; i < plain.view().count(); ++i) x[i] = static_cast<uint8_t>(1 + i % 255);
      const std::vector<uint8_t> blocks = blocks_of(plain, block);
      const int64_t positions = 3 * columns, padded = (channels + block - 1) / block * block;
      for (int64_t n = 0; n < 2; ++n)
        for (int64_t c = 0; c < padded; ++c)
          for (int64_t p = 0; p < positions; ++p) {
            const int64_t at = (n * padded + c / block * block) * positions + p * block + c % block;
            ASSERT_EQ(blocks[static_cast<size_t>(at)], c < channels ? x[(n * channels + c) * positions + p] : 0)
                << channels << " x " << columns << " at " << n << ' ' << c << ' ' << p;
          }
      const cpu::TensorDesc blocked{element::u8, plain.view().dims, cpu::Layout::blocked(4, static_cast<int>(block))},
          last{element::u8, plain.view().dims, cpu::Layout::channels_last(4)};
      HostTensor back(element::u8, plain.view().dims);
      cpu::reorder(blocked, blocks.data(), {element::u8, plain.view().dims, cpu::Layout::plain(4)},
                   back.writable().data, cpu::best_isa());
      EXPECT_EQ(std::memcmp(back.view().data, x, plain.view().bytes()), 0);
      std::vector<uint8_t> pixels(plain.view().bytes()), again(blocks.size(), 0xee);
      cpu::reorder(blocked, blocks.data(), last, pixels.data(), cpu::best_isa());
      cpu::reorder(last, pixels.data(), blocked, again.data(), cpu::best_isa());
      EXPECT_EQ(again, blocks);
    }
}

/// The executors of an op on blocks write what the interpreter computes, and zeros behind the last channel.
void expect_whole_blocks(cpu::Isa isa, const std::function<ir::Value(GraphMaker&)>& make) {
  const int64_t block = cpu::channel_block(isa);
  GraphMaker m;
  const ir::NodeId id = make(m).node;
  const ir::Node& node = m.graph().node(id);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (node.outputs[i].type == element::u8) m.result({id, static_cast<int32_t>(i)});
  const std::vector<HostTensor> inputs = bytes_for(m).front();
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : inputs) views.push_back(input.view());
  const std::vector<HostTensor> want = interpreter::Program(m.graph()).run(views);

  cpu::WeightsCache weights;
  cpu::NodeContext context = cpu::make_context(m.graph(), node, isa, weights);
  std::unique_ptr<const cpu::Executor> executor;
  for (const cpu::Impl* impl : cpu::impls_for(*node.schema)) {
    const cpu::Proposal proposal = impl->propose(context);
    const auto* choices = std::get_if<std::vector<cpu::LayoutChoice>>(&proposal);
    for (size_t i = 0; choices && !executor && i < choices->size(); ++i) {
      const cpu::LayoutChoice& choice = (*choices)[i];
      if (choice.outputs[0].channel_block() != block) continue;
      for (size_t in = 0; in < context.inputs.size(); ++in)
        if (choice.inputs[in]) context.inputs[in].layout = *choice.inputs[in];
      for (size_t out = 0; out < context.outputs.size(); ++out) context.outputs[out].layout = choice.outputs[out];
      executor = impl->create(context, choice);
    }
  }
  ASSERT_TRUE(executor);
  std::vector<std::vector<uint8_t>> sources;
  for (const HostTensor& input : inputs) sources.push_back(blocks_of(input, block));
  std::vector<const void*> src(node.inputs.size(), nullptr);
  for (size_t i = 0; i < sources.size(); ++i) src[i] = sources[i].data();
  for (const int threads : {1, 2, 3, 8}) {
    std::vector<std::vector<uint8_t>> results;
    std::vector<void*> dst(node.outputs.size(), nullptr);
    for (size_t i = 0; i < want.size(); ++i) {
      results.emplace_back(context.outputs[i].bytes(), 0xee);
      dst[i] = results[i].data();
    }
    const parallel::Arena arena(threads);
    executor->run({src.data(), dst.data(), nullptr, {}, arena});
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(results[i], blocks_of(want[i], block)) << executor->kernel_name() << ' ' << threads << " threads";
  }
}

std::vector<std::pair<cpu::Isa, int64_t>> with_each(const std::vector<cpu::Isa>& isas,
                                                    std::initializer_list<int64_t> channels) {
  std::vector<std::pair<cpu::Isa, int64_t>> all;
  for (const cpu::Isa isa : isas)
    for (const int64_t count : channels) all.emplace_back(isa, count);
  return all;
}

TEST(BytesInBlocks, PaddingIsZero) {
  if (buckets().empty()) GTEST_SKIP() << "no AVX2";
  for (const auto& [isa, channels] : with_each(buckets(), {1, 3, 16, 17, 40})) {
    SCOPED_TRACE(testing::Message() << cpu::isa_name(isa) << ' ' << channels);
    const auto expect_whole = [isa = isa](const auto& make) { expect_whole_blocks(isa, make); };
    const auto input = [](GraphMaker& m, int64_t batch, int64_t count) {
      return m.input({batch, count, 13, 21}, element::u8);
    };
    expect_whole([&, channels = channels](GraphMaker& m) {
      return largest_of(m, input(m, 2, channels), {{"kernel", "3,3"}, {"strides", "2,2"}, {"pads_begin", "1,1"}});
    });
    expect_whole([&, channels = channels](GraphMaker& m) {
      return m.op("Interpolate", {input(m, 2, channels), m.integers({29, 40}), m.integers({2, 3})},
                  {{"mode", "nearest"}, {"shape_calculation_mode", "sizes"}});
    });
    expect_whole([&, channels = channels](GraphMaker& m) {
      return m.op("Slice", {input(m, 2, channels), m.integers({2}), m.integers({9}), m.integers({3}), m.integers({2})});
    });
    for (const int64_t axis : {1, 2, 3})
      expect_whole([&, channels = channels](GraphMaker& m) {
        const int64_t others = axis == 1 ? 24 : channels;
        return m.op("Concat", {input(m, 2, channels), input(m, 2, others)}, {{"axis", std::to_string(axis)}});
      });
    if (channels == 1) continue;
    expect_whole([&, channels = channels](GraphMaker& m) {
      return m.op("VariadicSplit", {input(m, 2, channels), m.scalar_integer(1), m.integers({channels - 1, 1})});
    });
  }
}

// To the plain ends of a model and from them, in every rank.
TEST(BytesInBlocks, Reorders) {
  for (const char* shape : {"1,16,7,7", "2,48,16,16", "2,33,9,17", "1,5,3,200", "3,17,40", "1,40,3,4,9", "1,64,2,5"}) {
    SCOPED_TRACE(shape);
    GraphMaker m;
    m.result(largest_of(m, m.input(PartialShape(shape), element::u8), {}));
    expect_same_as_interpreter(m.graph(), bytes_for(m), 0);
  }
}

/// Multiples of 1/16, of each output one of 127 of them.
ir::Value convolution_in_bytes(GraphMaker& m, ir::Value x, int64_t outputs, uint32_t seed) {
  const ir::Value q =
      m.op("FakeQuantize", {x, m.scalar(0), m.scalar(16), m.scalar(0), m.scalar(16)}, {{"levels", "256"}});
  const int64_t inputs = m.dims(x)[1];
  std::vector<float> weights(static_cast<size_t>(outputs * inputs));
  Random random(seed);
  for (float& value : weights) value = static_cast<float>(random.between(-127, 127)) / 16;
  for (int64_t i = 0; i < outputs; ++i) weights[static_cast<size_t>(i * inputs)] = 127.0f / 16;
  return m.op("Convolution", {q, m.constant({outputs, inputs, 1, 1}, weights)},
              {{"strides", "1,1"}, {"dilations", "1,1"}, {"pads_begin", "0,0"}, {"pads_end", "0,0"}});
}

/// Two convolutions of one input, what joins their bytes, and one that reads it: without a reorder of bytes.
void expect_no_reorder_on(cpu::Isa isa, const std::function<ir::Value(GraphMaker&, ir::Value, ir::Value)>& join) {
  GraphMaker m;
  const ir::Value x = m.input("1,16,14,14");
  std::vector<ir::Value> reads;
  for (const uint32_t seed : {1, 2}) {
    const ir::Value y = m.op("ReLU", {convolution_in_bytes(m, x, 32, seed)});
    m.result(convolution_in_bytes(m, y, 32, seed + 2));
  }
  cpu::WeightSteps steps;
  ir::PassManager passes;
  passes.add(cpu::quantize_convolutions(cpu::cpu_ops(), ops::builtin_registry(), steps));
  passes.add(cpu::fuse_post_ops(cpu::cpu_ops(), cpu::ChainBases::with_own_store));
  passes.add(cpu::quantize_stores());
  passes.run(m.graph());
  std::vector<ir::Value> bytes;
  for (const ir::NodeId id : m.graph().nodes())
    if (m.graph().node(id).is(cpu::kQuantizedConvolutionType) && m.graph().node(id).outputs[0].type == element::u8)
      bytes.push_back({id, 0});
  ASSERT_EQ(bytes.size(), 2u);
  const std::vector<ir::Use> readers = {m.graph().uses(bytes[0]).at(0), m.graph().uses(bytes[1]).at(0)};
  const ir::Value joined = join(m, bytes[0], bytes[1]);
  for (const ir::Use& use : readers) m.graph().set_input(use, joined);

  cpu::WeightsCache weights;
  cpu::Decisions decisions = cpu::assign_layouts(m.graph(), isa, weights);
  cpu::insert_reorders(m.graph(), decisions, cpu::cpu_ops());
  EXPECT_EQ(cpu::layout_of(decisions, joined).channel_block(), cpu::channel_block(isa));
  for (const ir::NodeId id : m.graph().nodes()) {
    const ir::Node& node = m.graph().node(id);
    EXPECT_FALSE(node.is(cpu::kReorderType) && node.outputs[0].type == element::u8) << node.name;
  }
}

/// Wherever there are products of bytes.
void expect_no_reorder(const std::function<ir::Value(GraphMaker&, ir::Value, ir::Value)>& join) {
  for (const cpu::Isa isa : buckets()) {
    const ForcedIsa forced(isa == cpu::best_isa() ? "" : cpu::isa_name(isa));
    if (cpu::active_byte_products() != cpu::ByteProducts::none) expect_no_reorder_on(isa, join);
  }
}

TEST(BytesInBlocks, BetweenConvolutionsNothingIsReordered) {
  if (buckets().empty()) GTEST_SKIP() << "no AVX2";
  const auto half = [](GraphMaker& m, ir::Value x, int64_t first) {
    return m.op("Slice", {x, m.integers({first}), m.integers({first + 16}), m.integers({1}), m.integers({1})});
  };
  const auto reshaped = [](GraphMaker& m, ir::Value x, const std::vector<int64_t>& dims) {
    return m.op("Reshape", {x, m.integers(dims)}, {{"special_zero", "false"}});
  };
  expect_no_reorder([&](GraphMaker& m, ir::Value a, ir::Value b) {
    return m.op("Concat", {half(m, a, 0), half(m, b, 16)}, {{"axis", "1"}});
  });
  expect_no_reorder([&](GraphMaker& m, ir::Value a, ir::Value b) {
    return m.op("Concat", {largest_of(m, a, {}), largest_of(m, b, {})}, {{"axis", "2"}});
  });
  expect_no_reorder([&](GraphMaker& m, ir::Value a, ir::Value b) {
    const ir::Value parts = m.op("Split", {a, m.scalar_integer(1)}, {{"num_splits", "2"}});
    return m.op("Concat", {{parts.node, 1}, half(m, b, 0)}, {{"axis", "1"}});
  });
  expect_no_reorder([&](GraphMaker& m, ir::Value a, ir::Value) {
    const ir::Value large = m.op("Interpolate", {a, m.integers({28, 28}), m.integers({2, 3})},
                                 {{"mode", "nearest"}, {"shape_calculation_mode", "sizes"}});
    return m.op("StridedSlice",
                {large, m.integers({0, 0, 1, 1}), m.integers({1, 32, 20, 20}), m.integers({1, 1, 1, 2})},
                {{"begin_mask", "0,0,0,0"}, {"end_mask", "0,0,0,0"}});
  });
  expect_no_reorder([&](GraphMaker& m, ir::Value a, ir::Value) {
    const ir::Value line = largest_of(m, reshaped(m, a, {1, 32, 196}), {{"kernel", "1"}});
    return m.op("Squeeze", {m.op("Unsqueeze", {reshaped(m, line, {1, 32, 7, 28}), m.integers({2})}), m.integers({2})});
  });
}

}  // namespace
}  // namespace terroir::test
