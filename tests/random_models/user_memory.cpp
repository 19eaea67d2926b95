#include "tests/random_models/user_memory.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/error.hpp"
#include "tests/differential/differences.hpp"

namespace terroir::test {
namespace {

constexpr size_t kGuard = 192;  // bytes on each side: three lines of a cache, more than any vector
constexpr uint8_t kGuardByte = 0xa5;

/// Elements at an address that is a multiple of their size alone, between guards.
class Unaligned {
 public:
  Unaligned(element::Type type, ir::Dims dims) : view_{type, std::move(dims), nullptr} {
    const size_t bytes = view_.bytes();
    shift_ = kGuard + std::max<size_t>(1, type.size());
    buffer_ = std::make_unique<AlignedBuffer>(bytes + 2 * kGuard + 2 * shift_);
    std::memset(buffer_->data(), kGuardByte, buffer_->size());
    view_.data = data();
    if (bytes > 0) std::memset(data(), 0xff, bytes);
  }
  void* data() { return static_cast<uint8_t*>(buffer_->data()) + shift_; }
  const ir::TensorView& view() const { return view_; }
  bool guards_are_whole() const {
    const auto* bytes = static_cast<const uint8_t*>(buffer_->data());
    const auto is_guard = [](uint8_t byte) { return byte == kGuardByte; };
    return std::all_of(bytes, bytes + shift_, is_guard) &&
           std::all_of(bytes + shift_ + view_.bytes(), bytes + buffer_->size(), is_guard);
  }

 private:
  ir::TensorView view_;
  size_t shift_ = 0;
  std::unique_ptr<AlignedBuffer> buffer_;
};

class UnalignedOutputs final : public plugin::OutputBinder {
 public:
  explicit UnalignedOutputs(size_t count) : tensors(count) {}
  void* bind(size_t index, element::Type type, const ir::Dims& dims) override {
    tensors.at(index) = std::make_unique<Unaligned>(type, dims);
    return tensors[index]->data();
  }
  std::vector<std::unique_ptr<Unaligned>> tensors;
};

}  // namespace

std::string difference_over_user_memory(const DeviceModel& model, const std::vector<HostTensor>& inputs,
                                        const std::vector<HostTensor>& expected) {
  std::vector<std::unique_ptr<Unaligned>> given;
  std::vector<ir::TensorView> views;
  for (const HostTensor& input : inputs) {
    given.push_back(std::make_unique<Unaligned>(input.type(), input.dims()));
    if (input.view().bytes() > 0) std::memcpy(given.back()->data(), input.view().data, input.view().bytes());
    views.push_back(given.back()->view());
  }
  UnalignedOutputs outputs(expected.size());
  const auto request = model.compiled().create_request();
  const parallel::Arena arena(model.compiled().threading().threads_per_stream);
  const std::atomic<bool> cancelled{false};
  request->infer(views, outputs, {arena, cancelled});
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!given[i]->guards_are_whole()) return concat("memory beside input ", i, " was written");
    if (const std::string text = difference_in_bits(inputs[i], HostTensor(given[i]->view(), nullptr)); !text.empty())
      return concat("input ", i, " was written: ", text);
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!outputs.tensors[i]) return concat("output ", i, " was not asked for");
    if (!outputs.tensors[i]->guards_are_whole()) return concat("memory beside output ", i, " was written");
    const HostTensor actual(outputs.tensors[i]->view(), nullptr);
    if (const std::string text = difference_in_bits(expected[i], actual); !text.empty())
      return concat("output ", i, ": ", text);
  }
  return {};
}

}  // namespace terroir::test
