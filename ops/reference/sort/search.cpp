#include "ops/reference/sort/search.hpp"

#include <algorithm>

#include "ops/reference/dispatch.hpp"
#include "ops/reference/parallel.hpp"

namespace terroir::ops::reference {
namespace {

template <class C, class T, class Index, class Before>
void search(const T* sequence, int64_t length, const T* values, Index* dst, int64_t count, const Before& before) {
  constexpr int64_t kTogether = 8, kPerTask = 4096;
  parallel_ranges(count, kPerTask, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kTogether) {
      const int64_t n = std::min(kTogether, end - i);
      C value[kTogether];
      int64_t at[kTogether] = {};
      for (int64_t j = 0; j < kTogether; ++j) value[j] = static_cast<C>(values[i + std::min(j, n - 1)]);
      int64_t rest = length;
      for (; rest > 1; rest -= rest / 2)
        for (int64_t j = 0; j < kTogether; ++j)
          at[j] += before(static_cast<C>(sequence[at[j] + rest / 2 - 1]), value[j]) ? rest / 2 : 0;
      for (int64_t j = 0; j < n; ++j)
        dst[i + j] =
            static_cast<Index>(at[j] + (rest > 0 && before(static_cast<C>(sequence[at[j]]), value[j]) ? 1 : 0));
    }
  });
}

}  // namespace

void search_sorted(const ir::TensorView& sequences, const ir::TensorView& values, bool after_equal,
                   const ir::MutableTensorView& dst) {
  const int64_t count = values.count();
  if (count == 0) return;
  const int64_t length = sequences.dims.back();
  const int64_t per_sequence = sequences.dims.size() == 1 ? count : values.dims.back();
  dispatch_type<TERROIR_NUMBERS>(sequences.type, "a sorted sequence", [&](auto tag) {
    dispatch_type<int32_t, int64_t>(dst.type, "positions in a sequence", [&](auto index_tag) {
      using T = decltype(tag);
      using C = compute_t<T>;
      parallel_for(count / per_sequence, [&](int64_t i) {
        const T* sequence = sequences.as<T>() + i * length;
        const T* first = values.as<T>() + i * per_sequence;
        auto* out = dst.as<decltype(index_tag)>() + i * per_sequence;
        if (after_equal)
          search<C>(sequence, length, first, out, per_sequence, [](C element, C value) { return !(value < element); });
        else
          search<C>(sequence, length, first, out, per_sequence, [](C element, C value) { return element < value; });
      });
    });
  });
}

}  // namespace terroir::ops::reference
