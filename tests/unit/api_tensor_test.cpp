// Tensor, Layout
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "terroir/exception.hpp"
#include "terroir/layout.hpp"
#include "terroir/tensor.hpp"
#include "terroir/terroir.hpp"
#include "tests/unit/error_parts.hpp"

namespace terroir {
namespace {

TEST(Tensor, OwnsZeroedAlignedMemory) {
  const Tensor tensor(element::f32, {2, 3});
  EXPECT_EQ(tensor.get_size(), 6u);
  EXPECT_EQ(tensor.get_byte_size(), 24u);
  EXPECT_EQ(tensor.get_strides(), (Strides{12, 4}));
  EXPECT_TRUE(tensor.is_continuous());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(tensor.data<float>()[i], 0.f);
  EXPECT_EQ(Tensor(element::i64, Shape{}).get_size(), 1u);
  EXPECT_EQ(Tensor(element::u4, {3}).get_byte_size(), 2u);
  EXPECT_EQ(Tensor(element::f32, {0, 4}).get_size(), 0u);
}

TEST(Tensor, IsAHandle) {
  const Tensor a(element::i32, {2});
  const Tensor b = a;
  b.data<int32_t>()[1] = 7;
  EXPECT_EQ(a.data<int32_t>()[1], 7);
  EXPECT_EQ(a, b);
  const Tensor empty;
  EXPECT_TRUE(!empty);
  EXPECT_EQ(code_of([&] { empty.get_shape(); }), ErrorCode::invalid_argument);
}

TEST(Tensor, ChecksTheTypeOfItsData) {
  const Tensor tensor(element::f32, {2});
  EXPECT_NO_THROW(tensor.data<const float>());
  EXPECT_EQ(code_of([&] { tensor.data<int32_t>(); }), ErrorCode::type_mismatch);
  EXPECT_EQ(code_of([&] { tensor.data(element::f16); }), ErrorCode::type_mismatch);
  const Tensor flags(element::boolean, {2});
  EXPECT_NO_THROW(flags.data<bool>());
  EXPECT_NO_THROW(flags.data<uint8_t>());
  EXPECT_NO_THROW(Tensor(element::i4, {2}).data<int8_t>());
  EXPECT_NO_THROW(Tensor(element::f16, {2}).data<float16>());
  EXPECT_NO_THROW(Tensor(element::f16, {2}).data<bfloat16>());
  EXPECT_NO_THROW(Tensor(element::bf16, {2}).data<float16>());
  EXPECT_EQ(code_of([] { Tensor(element::f16, {2}).data<uint16_t>(); }), ErrorCode::type_mismatch);
  EXPECT_EQ(code_of([&] { tensor.data<uint8_t>(); }), ErrorCode::type_mismatch);
}

TEST(Tensor, HoldsStrings) {
  const Tensor tensor(element::string, {3});
  tensor.data<std::string>()[2] = "a text that is too long for the small buffer of a string";
  Tensor copy(element::string, {3});
  tensor.copy_to(copy);
  EXPECT_EQ(copy.data<std::string>()[2].size(), 56u);
  const Tensor view(tensor, {1}, {3});
  EXPECT_EQ(view.data<std::string>()[1].size(), 56u);
}

TEST(Tensor, BorrowsMemory) {
  float data[6] = {0, 1, 2, 3, 4, 5};
  Tensor tensor(element::f32, {2, 3}, data);
  EXPECT_EQ(tensor.data(), data);
  tensor.set_shape({3, 2});
  EXPECT_EQ(tensor.data(), data);
  EXPECT_EQ(code_of([&] { tensor.set_shape({7}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(tensor.get_shape(), (Shape{3, 2}));
  EXPECT_EQ(code_of([] { Tensor(element::f32, {1}, nullptr); }), ErrorCode::invalid_argument);
  EXPECT_NO_THROW(Tensor(element::f32, {0}, nullptr));
}

TEST(Tensor, BorrowsMemoryWithGaps) {
  float data[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const Tensor tensor(element::f32, {2, 3}, data, {16, 4});
  EXPECT_FALSE(tensor.is_continuous());
  Tensor dense(element::f32, {2, 3});
  tensor.copy_to(dense);
  const float expected[6] = {0, 1, 2, 4, 5, 6};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(dense.data<float>()[i], expected[i]);
  // One element along an axis: its stride does not matter.
  EXPECT_TRUE(Tensor(element::f32, {4, 1}, data, {4, 400}).is_continuous());
  for (const Strides& bad : {Strides{16}, Strides{8, 4}, Strides{18, 4}, Strides{16, 2}, Strides{16, 0}}) {
    EXPECT_EQ(code_of([&] { Tensor(element::f32, {2, 3}, data, bad); }), ErrorCode::invalid_argument) << bad;
  }
}

TEST(Tensor, WithoutElementsItHasAnAddressAndNoSteps) {
  const Tensor tensor(element::f32, {0, 3});
  EXPECT_NE(tensor.data(), nullptr);
  EXPECT_EQ(tensor.get_byte_size(), 0u);
  EXPECT_EQ(tensor.get_strides(), (Strides{0, 0}));
  EXPECT_TRUE(tensor.is_continuous());
  EXPECT_NE(Tensor(element::string, {0}).data(), nullptr);
}

TEST(Tensor, ViewsSharePartsOfMemory) {
  const Tensor whole(element::i32, {3, 4, 5});
  std::iota(whole.data<int32_t>(), whole.data<int32_t>() + 60, 0);
  const Tensor view(whole, {1, 1, 2}, {3, 3, 5});
  EXPECT_EQ(view.get_shape(), (Shape{2, 2, 3}));
  EXPECT_EQ(view.get_strides(), whole.get_strides());
  EXPECT_FALSE(view.is_continuous());
  Tensor dense(element::i32, {1});
  view.copy_to(dense);
  EXPECT_EQ(dense.get_shape(), (Shape{2, 2, 3}));
  for (int n = 0, i = 0; n < 2; ++n)
    for (int c = 0; c < 2; ++c)
      for (int w = 0; w < 3; ++w, ++i) {
        EXPECT_EQ(dense.data<int32_t>()[i], (n + 1) * 20 + (c + 1) * 5 + w + 2);
      }
  for (int i = 0; i < 12; ++i) dense.data<int32_t>()[i] = -i - 1;
  dense.copy_to(view);
  EXPECT_EQ(whole.data<int32_t>()[1 * 20 + 1 * 5 + 2], -1);
  EXPECT_EQ(whole.data<int32_t>()[2 * 20 + 2 * 5 + 4], -12);
  EXPECT_EQ(whole.data<int32_t>()[1 * 20 + 1 * 5 + 1], 26);
  // A view of a view, and a view that happens to be dense.
  EXPECT_EQ(Tensor(view, {1, 1, 2}, {2, 2, 3}).data<int32_t>()[0], -12);
  EXPECT_TRUE(Tensor(whole, {1, 0, 0}, {2, 4, 5}).is_continuous());
  EXPECT_EQ(Tensor(whole, {1, 1, 1}, {1, 2, 2}).get_size(), 0u);
}

TEST(Tensor, ViewsOutliveTheHandleTheyWereMadeFrom) {
  Tensor view;
  {
    Tensor whole(element::i32, {4});
    whole.data<int32_t>()[2] = 9;
    view = Tensor(whole, {2}, {4});
    whole.set_shape({1000});  // other memory
  }
  EXPECT_EQ(view.data<int32_t>()[0], 9);
}

TEST(Tensor, RefusesBadViews) {
  const Tensor whole(element::i32, {3, 4});
  EXPECT_EQ(code_of([&] { Tensor(whole, {0}, {1}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { Tensor(whole, {0, 0}, {3, 5}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { Tensor(whole, {2, 0}, {1, 4}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { Tensor(Tensor(element::u4, {4}), {0}, {2}); }), ErrorCode::invalid_argument);
  Tensor view(whole, {0, 0}, {1, 4});
  EXPECT_EQ(code_of([&] { view.set_shape({2, 4}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { view.set_shape({4}); }), ErrorCode::shape_mismatch);
}

TEST(Tensor, ViewsKeepWithinTheExtentsTheyWereMadeWith) {
  const Tensor whole(element::i32, {3, 4});
  std::iota(whole.data<int32_t>(), whole.data<int32_t>() + 12, 0);
  Tensor view(whole, {1, 1}, {3, 4});
  view.set_shape({2, 2});
  EXPECT_EQ(view.get_strides(), whole.get_strides());
  EXPECT_FALSE(view.is_continuous());
  const Tensor dense(element::i32, {0});
  view.copy_to(dense);
  EXPECT_EQ(std::vector<int32_t>(dense.data<int32_t>(), dense.data<int32_t>() + 4),
            (std::vector<int32_t>{5, 6, 9, 10}));
  view.set_shape({1, 3});
  EXPECT_TRUE(view.is_continuous());
  view.set_shape({0, 0});
  EXPECT_EQ(code_of([&] { view.set_shape({2, 4}); }), ErrorCode::shape_mismatch);
  view.set_shape({2, 3});
  EXPECT_EQ(view.get_shape(), (Shape{2, 3}));
  EXPECT_EQ(*(view.data<int32_t>()), 5);
}

TEST(Tensor, KeepsTheStridesThatItWasGiven) {
  float data[32];
  std::iota(std::begin(data), std::end(data), 0.F);
  const Strides strides{64, 16, 4};
  Tensor tensor(element::f32, {2, 2, 2}, data, strides);
  for (const Shape& shape : {Shape{1, 2, 2}, Shape{2, 1, 2}, Shape{0, 2, 2}, Shape{2, 2, 2}}) {
    tensor.set_shape(shape);
    EXPECT_EQ(tensor.get_strides(), strides) << shape;
  }
  EXPECT_FALSE(tensor.is_continuous());
  Tensor one(element::f32, {1, 2, 2});
  std::fill_n(one.data<float>(), 4, -1.F);
  one.copy_to(tensor);
  EXPECT_EQ(tensor.get_shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(std::vector<float>(data, data + 7), (std::vector<float>{-1, -1, 2, 3, -1, -1, 6}));
  for (const Shape& shape : {Shape{2, 1, 4}, Shape{3, 1, 1}, Shape{2, 2}})
    EXPECT_EQ(code_of([&] { tensor.set_shape(shape); }), ErrorCode::shape_mismatch) << shape;
}

// Of an inference, in memory with gaps that has room for more of them.
TEST(Tensor, TakesResultsBetweenItsGaps) {
  ModelBuilder b("abs");
  b.result(b.op("Abs", "opset1", {b.parameter(element::f32, PartialShape{-1, 2, 2}, "x")}, {}));
  const auto model = b.build();
  for (const char* device : {"CPU", "INTERPRETER"}) {
    InferRequest request = Core().compile_model(model, device).create_infer_request();
    float from[32], to[48] = {};
    std::iota(std::begin(from), std::end(from), -31.F);
    request.set_input_tensor(Tensor(element::f32, {2, 2, 2}, from, {64, 16, 4}));
    request.set_output_tensor(Tensor(element::f32, {3, 2, 2}, to, {64, 16, 4}));
    request.infer();
    EXPECT_EQ(request.get_output_tensor().get_shape(), (Shape{2, 2, 2})) << device;
    for (size_t i = 0; i < 48; ++i)
      EXPECT_EQ(to[i], i < 32 && i % 16 < 8 && i % 4 < 2 ? -from[i] : 0.F) << device << ", place " << i;
  }
}

TEST(Tensor, ViewsTakeAxesOfOneElementInFront) {
  const Tensor whole(element::i32, {3, 4});
  std::iota(whole.data<int32_t>(), whole.data<int32_t>() + 12, 0);
  Tensor view(whole, {1, 1}, {3, 4});
  view.set_shape({1, 1, 2, 2});
  EXPECT_EQ(view.get_shape(), (Shape{1, 1, 2, 2}));
  const Tensor dense(element::i32, {0});
  view.copy_to(dense);
  EXPECT_EQ(std::vector<int32_t>(dense.data<int32_t>(), dense.data<int32_t>() + 4),
            (std::vector<int32_t>{5, 6, 9, 10}));
  for (const Shape& bad : {Shape{2, 1, 1}, Shape{1, 2, 1, 2}, Shape{2}, Shape{1, 3, 1}}) {
    EXPECT_EQ(code_of([&] { view.set_shape(bad); }), ErrorCode::shape_mismatch) << bad;
  }
  view.set_shape({2, 3});
  EXPECT_EQ(view.get_strides(), whole.get_strides());
}

TEST(Tensor, CopiesBetweenTensorsWithGaps) {
  float from_data[6] = {1, 2, 0, 3, 4, 0};
  float to_data[8] = {};
  const Tensor from(element::f32, {2, 2}, from_data, {12, 4});
  Tensor to(element::f32, {2, 2}, to_data, {16, 4});
  from.copy_to(to);
  EXPECT_EQ(to_data[1], 2);
  EXPECT_EQ(to_data[4], 3);
  EXPECT_EQ(to_data[2], 0);
  EXPECT_EQ(code_of([&] { from.copy_to(Tensor(element::i32, {2, 2})); }), ErrorCode::type_mismatch);
  EXPECT_EQ(code_of([&] { from.copy_to(Tensor()); }), ErrorCode::invalid_argument);
  // Gaps in the innermost axis.
  const Tensor column(element::f32, {2, 1}, from_data, {12, 4});
  const Tensor sparse(element::f32, {3}, from_data, {8});
  Tensor dense(element::f32, {});
  sparse.copy_to(dense);
  EXPECT_EQ(dense.data<float>()[1], 0);
  EXPECT_EQ(dense.data<float>()[2], 4);
  column.copy_to(dense);
  EXPECT_EQ(dense.data<float>()[1], 3);
}

TEST(Tensor, GrowsAndKeepsItsMemoryWhenItShrinks) {
  Tensor tensor(element::f32, {4});
  void* const data = tensor.data();
  tensor.set_shape({2});
  tensor.set_shape({2, 2});
  EXPECT_EQ(tensor.data(), data);
  tensor.set_shape({100});
  EXPECT_EQ(tensor.get_byte_size(), 400u);
  tensor.data<float>()[99] = 1;
}

TEST(Tensor, RefusesImpossibleTensors) {
  EXPECT_EQ(code_of([] { Tensor(element::dynamic, {1}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([] { Tensor(element::f32, {SIZE_MAX, 2}); }), ErrorCode::out_of_memory);
  EXPECT_EQ(code_of([] { Tensor(element::f32, {SIZE_MAX}); }), ErrorCode::out_of_memory);
  EXPECT_EQ(code_of([] { Tensor(element::f32, {size_t{1} << 60}); }), ErrorCode::out_of_memory);
  EXPECT_EQ(code_of([] { Tensor(element::u4, {2}).get_strides(); }), ErrorCode::unsupported);
}

// Counts what is taken and given back; memory is filled with a pattern.
struct CountingAllocator {
  std::shared_ptr<std::array<size_t, 2>> counts = std::make_shared<std::array<size_t, 2>>();
  void* allocate(size_t bytes, size_t alignment) {
    (*counts)[0] += bytes;
    void* memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    std::memset(memory, 0x55, bytes);
    return memory;
  }
  void deallocate(void* memory, size_t bytes, size_t) {
    (*counts)[1] += bytes;
    std::free(memory);
  }
  bool is_equal(const CountingAllocator& other) const { return counts == other.counts; }
};

TEST(Tensor, TakesMemoryFromAnAllocator) {
  const CountingAllocator allocator;
  {
    Tensor tensor(element::u8, {10}, allocator);
    EXPECT_EQ(tensor.data<uint8_t>()[9], 0x55);
    tensor.set_shape({100});
    EXPECT_EQ(*allocator.counts, (std::array<size_t, 2>{110, 10}));
    const Tensor view(tensor, {3}, {5});
    tensor = {};
    EXPECT_EQ((*allocator.counts)[1], 10u);
    EXPECT_EQ(view.data<uint8_t>()[1], 0x55);
  }
  EXPECT_EQ(*allocator.counts, (std::array<size_t, 2>{110, 110}));
  {
    Tensor texts(element::string, {3}, allocator);
    texts.data<std::string>()[2] = std::string(100, 'x');
    texts.set_shape({5});
    EXPECT_EQ(texts.data<std::string>()[4], "");
  }
  EXPECT_EQ((*allocator.counts)[0], (*allocator.counts)[1]);
  EXPECT_TRUE(Allocator() == Allocator());
  EXPECT_TRUE(Allocator(allocator) == Allocator(allocator));
  EXPECT_FALSE(Allocator(allocator) == Allocator());
  EXPECT_FALSE(Allocator(CountingAllocator()) == Allocator(CountingAllocator()));
  const Allocator standard;
  void* memory = standard.allocate(100, 256);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % 256, 0u);
  standard.deallocate(memory, 100, 256);
}

TEST(Tensor, MemoryMayBeReadOnly) {
  const std::array<float, 2> memory{1, 2};
  const Tensor tensor(element::f32, {2}, memory.data());
  EXPECT_EQ(tensor.data<const float>()[1], 2.f);
  const Tensor other(element::f32, {2});
  tensor.copy_to(other);
  EXPECT_EQ(other.data<float>()[0], 1.f);
  EXPECT_EQ(code_of([&] { other.copy_to(tensor); }), ErrorCode::invalid_argument);
}

// A Tensor of the user's: of floats only.
struct FloatTensor : Tensor {
  static void type_check(const Tensor& tensor) {
    if (tensor.get_element_type() != element::f32) throw Exception("no floats");
  }
};

TEST(Tensor, CanBeUsedAsAClassOfTheUsers) {
  EXPECT_TRUE(Tensor(element::f32, {1}).is<FloatTensor>());
  EXPECT_FALSE(Tensor(element::i32, {1}).is<FloatTensor>());
  EXPECT_FALSE(Tensor().is<FloatTensor>());
  EXPECT_THROW(Tensor(element::i32, {1}).as<FloatTensor>(), Exception);
  const TensorVector tensors(2, Tensor(element::u8, {1}));
  EXPECT_EQ(tensors[0].as<Tensor>(), tensors[1]);
}

TEST(Tensor, ReadsFiles) {
  const std::string path = testing::TempDir() + "/terroir_tensor_" + std::to_string(getpid()) + ".bin";
  const std::array<uint16_t, 6> numbers{1, 2, 3, 4, 5, 6};
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(numbers.data()), sizeof numbers);
  for (const bool mmap : {true, false}) {
    EXPECT_EQ(read_tensor_data(path, element::u8, PartialShape::dynamic(1), 0, mmap).get_shape(), (Shape{12}));
    const Tensor all = read_tensor_data(path, element::u16, {-1, 3}, 0, mmap);
    EXPECT_EQ(all.get_shape(), (Shape{2, 3}));
    EXPECT_EQ(all.data<uint16_t>()[5], 6);
    const Tensor part = read_tensor_data(path, element::u16, {2}, 4, mmap);
    EXPECT_EQ(part.data<uint16_t>()[0], 3);
    EXPECT_EQ(read_tensor_data(path, element::u16, {-1}, 12, mmap).get_shape(), (Shape{0}));
    for (const PartialShape& shape : {PartialShape{-1}, PartialShape{0}, PartialShape{2}}) {
      const Exception beyond = caught([&] { read_tensor_data(path, element::u16, shape, 13, mmap); });
      EXPECT_EQ(beyond.code(), ErrorCode::invalid_argument);
      EXPECT_EQ(beyond.message(), "'" + path + "' has 12 bytes, the offset to read from is 13");
    }
  }
  EXPECT_EQ(code_of([&] { read_tensor_data(path, element::u16, {7}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { read_tensor_data(path, element::u16, {-1, 4}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { read_tensor_data(path, element::u16, {Dimension(1, 5)}); }), ErrorCode::shape_mismatch);
  EXPECT_EQ(code_of([&] { read_tensor_data(path, element::u16, {-1, -1}); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { read_tensor_data(path, element::string); }), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of([&] { read_tensor_data(path + "x"); }), ErrorCode::file_not_found);
  std::filesystem::remove(path);
}

TEST(Layout, ReadsAndPrints) {
  const std::pair<const char*, const char*> cases[] = {
      {"NCHW", "[N,C,H,W]"},       {"nchw", "[N,C,H,W]"}, {"N??C", "[N,?,?,C]"},        {"N...C", "[N,...,C]"},
      {"[N, C,width]", "[N,C,W]"}, {"...", "[...]"},      {"**SCALAR**", "**SCALAR**"}, {"...HW", "[...,H,W]"}};
  for (const auto& [text, printed] : cases) {
    EXPECT_EQ(Layout(text).to_string(), printed);
    EXPECT_EQ(Layout(Layout(text).to_string()), Layout(text));
  }
  for (const char* bad : {" ", "[N,batch]", "NN", "N......C", "N,C", "[N,C", "[N,,C]", "N C", "[]"}) {
    EXPECT_EQ(code_of([&] { Layout layout(bad); }), ErrorCode::parse_error) << bad;
  }
}

TEST(Layout, FindsAxes) {
  EXPECT_EQ(layout::batch_idx("NCHW"), 0);
  EXPECT_EQ(layout::width_idx("NCHW"), 3);
  EXPECT_EQ(layout::channels_idx("N...C"), -1);
  EXPECT_EQ(layout::height_idx("N...HW"), -2);
  EXPECT_TRUE(layout::has_depth("NCDHW"));
  EXPECT_FALSE(layout::has_batch("CHW"));
  EXPECT_EQ(Layout("[n,width]").get_index_by_name("WIDTH"), 1);
  EXPECT_EQ(code_of([] { layout::batch_idx("CHW"); }), ErrorCode::not_found);
  EXPECT_EQ(layout::channels_idx("[Batch,Height,Width,Channel]"), 3);
  EXPECT_EQ(Layout("[B,CHANNELS,DEPTH]"), Layout("NCD"));
  EXPECT_TRUE(Layout().empty());
  EXPECT_TRUE(Layout("").empty());
  EXPECT_FALSE(Layout::scalar().empty());
  EXPECT_NE(Layout("NCHW"), Layout("NHWC"));
}

}  // namespace
}  // namespace terroir
