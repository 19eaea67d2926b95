// Tensors that are input and output, and outputs in the memory of others, on every device.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "terroir/ops.hpp"
#include "terroir/terroir.hpp"

namespace terroir {
namespace {

// Memory that holds no numbers once it is given back.
struct SpoilingAllocator {
  void* allocate(size_t bytes, size_t alignment) {
    return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void deallocate(void* memory, size_t bytes, size_t) {
    std::memset(memory, 0xff, bytes);
    kept.emplace_back(memory, &std::free);
  }
  bool is_equal(const SpoilingAllocator&) const { return true; }
  static inline std::vector<std::unique_ptr<void, decltype(&std::free)>> kept;
};

// As in a loop that grows a text: one tensor is read, and becomes larger by what was found.
TEST(Requests, ATensorThatGrowsMayBeInputAndOutput) {
  for (const bool depends_on_data : {false, true}) {
    const auto x = std::make_shared<op::v0::Parameter>(element::f32, PartialShape{-1});
    std::shared_ptr<Node> more = x;
    if (depends_on_data) {
      const auto zero = op::v0::Constant::create(element::i64, Shape{}, {int64_t{0}});
      const auto line = op::v0::Constant::create(element::i64, Shape{1}, {int64_t{-1}});
      more = std::make_shared<op::v8::Gather>(x, std::make_shared<op::v3::NonZero>(x), zero);
      more = std::make_shared<op::v1::Reshape>(more, line, false);
    }
    const auto model = std::make_shared<Model>(OutputVector{std::make_shared<op::v0::Concat>(OutputVector{x, more}, 0)},
                                               ParameterVector{x});
    for (const char* device : {"CPU", "INTERPRETER"}) {
      InferRequest request = Core().compile_model(model, device).create_infer_request();
      const Tensor text(element::f32, {3}, SpoilingAllocator());
      std::iota(text.data<float>(), text.data<float>() + 3, 1.f);
      request.set_input_tensor(text);
      request.set_output_tensor(text);
      for (size_t count = 6; count < 100; count *= 2) {
        request.infer();
        ASSERT_EQ(text.get_shape(), (Shape{count})) << device;
        for (size_t i = 0; i < count; ++i) EXPECT_EQ(text.data<float>()[i], static_cast<float>(i % 3 + 1)) << device;
      }
    }
  }
}

// What is computed from a result reads it where it was written: nothing else may be written there meanwhile.
TEST(Requests, OutputsMayShareMemory) {
  constexpr size_t kCount = 48;
  for (const bool depends_on_data : {false, true}) {
    const auto x = std::make_shared<op::v0::Parameter>(element::i64, PartialShape{1, kCount});
    Output<Node> first = std::make_shared<op::v0::Abs>(x);
    if (depends_on_data) {
      const auto row = op::v0::Constant::create(element::i64, Shape{1}, {int64_t{0}});
      first = std::make_shared<op::v3::NonZero>(std::make_shared<op::v0::Squeeze>(first, row));
    }
    const auto two = op::v0::Constant::create(element::i64, Shape{}, {int64_t{2}});
    const auto double_row = std::make_shared<op::v0::Concat>(OutputVector{first, first}, 0);
    const auto twice = std::make_shared<op::v1::Multiply>(first, two);
    const auto thrice = std::make_shared<op::v1::Add>(twice, first);
    const auto model = std::make_shared<Model>(OutputVector{first, double_row, twice, thrice}, ParameterVector{x});
    for (const char* device : {"CPU", "INTERPRETER"}) {
      InferRequest request = Core().compile_model(model, device).create_infer_request();
      const Tensor values(element::i64, {1, kCount});
      std::iota(values.data<int64_t>(), values.data<int64_t>() + kCount, 1);
      request.set_input_tensor(values);
      std::vector<int64_t> memory(2 * kCount);
      if (depends_on_data) {
        const Tensor shared(element::i64, {0}, SpoilingAllocator());
        for (size_t output = 0; output < 3; ++output) request.set_output_tensor(output, shared);
      } else {
        request.set_output_tensor(0, Tensor(element::i64, {1, kCount}, memory.data()));
        request.set_output_tensor(1, Tensor(element::i64, {2, kCount}, memory.data()));
        request.set_output_tensor(2, Tensor(element::i64, {1, kCount}, memory.data() + kCount / 2));
      }
      for (int run = 0; run < 2; ++run) {
        request.infer();
        const Tensor found = request.get_output_tensor(3);
        ASSERT_EQ(found.get_shape(), (Shape{1, kCount})) << device;
        for (size_t i = 0; i < kCount; ++i)
          ASSERT_EQ(found.data<int64_t>()[i], 3 * static_cast<int64_t>(i + (depends_on_data ? 0 : 1))) << device;
      }
    }
  }
}

}  // namespace
}  // namespace terroir
