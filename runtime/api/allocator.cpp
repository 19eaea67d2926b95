#include "terroir/allocator.hpp"

#include <new>

#include "ir/base/error.hpp"

namespace terroir {

struct Allocator::Standard final : Allocator::Base {
  void* allocate(size_t bytes, size_t alignment) override {
    void* memory = ::operator new(bytes, std::align_val_t(alignment), std::nothrow);
    if (memory == nullptr) throw_error(ErrorCode::out_of_memory, "cannot allocate ", bytes, " bytes");
    return memory;
  }
  void deallocate(void* memory, size_t, size_t alignment) override {
    ::operator delete(memory, std::align_val_t(alignment));
  }
  bool is_equal(const Base& other) const override { return this == &other; }
};

Allocator::Allocator() {
  static const auto standard = std::make_shared<Standard>();
  object_ = standard;
}

}  // namespace terroir
