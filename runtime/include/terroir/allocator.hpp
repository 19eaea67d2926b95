// Where a tensor gets the memory it owns.
//
// What: any copyable object with allocate(bytes, alignment), deallocate(pointer, bytes, alignment) and is_equal(other);
//       without one, memory of the library. Copies share the object.
// Threads: as those of the object.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "terroir/export.hpp"

namespace terroir {

class TERROIR_API Allocator {
  template <typename A, typename = void>
  struct IsAllocator : std::false_type {};
  template <typename A>
  struct IsAllocator<A, std::void_t<decltype(std::declval<A&>().allocate(size_t{}, size_t{})),
                                    decltype(std::declval<A&>().deallocate(nullptr, size_t{}, size_t{})),
                                    decltype(std::declval<const A&>().is_equal(std::declval<const A&>()))>>
      : std::true_type {};

 public:
  /// Aligned memory of the library.
  Allocator();
  template <typename A, typename D = std::decay_t<A>,
            typename = std::enable_if_t<!std::is_same_v<D, Allocator> && IsAllocator<D>::value>>
  Allocator(A&& allocator)  // NOLINT: implicit, as in OpenVINO
      : object_(std::make_shared<Object<D>>(std::forward<A>(allocator))) {}

  /// At least `bytes` bytes. Throws what the object throws; Exception (out_of_memory).
  void* allocate(size_t bytes, size_t alignment = alignof(std::max_align_t)) const {
    return object_->allocate(bytes, alignment);
  }
  void deallocate(void* memory, size_t bytes = 0, size_t alignment = alignof(std::max_align_t)) const {
    object_->deallocate(memory, bytes, alignment);
  }
  /// Whether memory of one may be given back to the other.
  bool operator==(const Allocator& other) const {
    return object_ == other.object_ || object_->is_equal(*other.object_);
  }
  bool operator!=(const Allocator& other) const { return !(*this == other); }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  bool operator!() const noexcept { return object_ == nullptr; }

 private:
  friend class Tensor;
  struct Base {
    virtual ~Base() = default;
    virtual void* allocate(size_t bytes, size_t alignment) = 0;
    virtual void deallocate(void* memory, size_t bytes, size_t alignment) = 0;
    virtual bool is_equal(const Base& other) const = 0;
  };
  template <typename A>
  struct Object final : Base {
    template <typename V>
    explicit Object(V&& v) : allocator(std::forward<V>(v)) {}
    void* allocate(size_t bytes, size_t alignment) override { return allocator.allocate(bytes, alignment); }
    void deallocate(void* memory, size_t bytes, size_t alignment) override {
      allocator.deallocate(memory, bytes, alignment);
    }
    bool is_equal(const Base& other) const override {
      const auto* same = dynamic_cast<const Object*>(&other);
      return same != nullptr && allocator.is_equal(same->allocator);
    }
    A allocator;
  };
  struct Standard;

  std::shared_ptr<Base> object_;
};

}  // namespace terroir
