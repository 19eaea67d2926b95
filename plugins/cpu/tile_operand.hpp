#pragma once
// What: TileOperand, an operand that broadcasts to a result, laid out run by run for any stretch of the result.
#include <array>
#include <cstdint>
#include <vector>

#include "ir/base/tensor_view.hpp"

namespace terroir::cpu {

class TileOperand {
 public:
  TileOperand() = default;
  /// `dims` has as many axes as `result`, each of its extent or 1.
  TileOperand(const ir::Dims& dims, const ir::Dims& result, size_t width);

  /// It has the result's shape: no layout needed.
  bool whole() const { return whole_; }
  /// It is one element.
  bool single() const { return single_; }

  /// What a stretch of the result meets.
  struct Stretch {
    enum class Form {
      constant,    // `element` everywhere
      contiguous,  // element ... element + n - 1
      periodic,    // a few elements over and over, the first of them `element`: that number tells stretches apart
      rows,        // `row` times element, `row` times element + 1 ...
      scattered
    };
    Form form = Form::scattered;
    int64_t element = -1;
    int64_t row = 0;
    int64_t end = 0;  // of the result: until there it goes on alike
  };
  /// That of begin ... begin + n - 1; not for an operand that is whole.
  Stretch stretch(int64_t begin, int64_t n) const noexcept;

  /// Writes what elements begin ... begin + n - 1 of the result meet.
  void expand(const void* src, int64_t begin, int64_t n, void* dst) const noexcept;

  /// Elements after which a stretch that begins there goes on alike: whole rows, or whole periods.
  int64_t row() const { return axes_.back().extent; }

  /// Axes that remain when neighbours which vary alike are one; after it every second one varies.
  static constexpr size_t kMaxAxes = 16;

 private:
  struct Axis {
    int64_t extent = 1;
    int64_t stride = 0;  // in elements; 0: the operand does not vary along it
  };
  /// The position of an element of the result along each axis; the element of the operand that it meets.
  int64_t place(int64_t begin, std::array<int64_t, kMaxAxes>& at) const noexcept;
  /// Positions that have reached the end of their axis, from `from` on, go on with the next of the axis before.
  void carry(std::array<int64_t, kMaxAxes>& at, int64_t& offset, size_t from) const noexcept;
  template <class T>
  void expand_as(const T* src, int64_t begin, int64_t n, T* dst) const noexcept;

  std::vector<Axis> axes_;
  size_t width_ = 0;
  bool whole_ = true, single_ = false;
};

/// `n` copies of the element at `value`.
void fill_elements(const void* value, size_t width, int64_t n, void* dst) noexcept;

}  // namespace terroir::cpu
