#include "plugins/cpu/kernels/scatter/scatter.hpp"

#include <cstring>

#include "ops/reference/movement/scatter_combine.hpp"

namespace terroir::cpu {
namespace {

using ops::reference::ScatterReduction;

/// fn(element of dst, update) for all of them, in order. `kBlocks`: in a copy of it, so that the compiler, which does
/// not know that updates lie elsewhere, makes vectors of long pieces.
template <class T, bool kBlocks = false, class Fn>
void for_each_update(const ScatterArgs& a, Fn&& fn) {
  T* dst = static_cast<T*>(a.dst);
  const T* updates = static_cast<const T*>(a.updates);
  for (int64_t p = 0; p < a.count; ++p) {
    if (a.places[p] == kNowhere) continue;
    T* to = dst + a.places[p];
    const T* from = updates + p * a.update_step;
    int64_t k = 0;
    if constexpr (kBlocks) {
      T block[16];
      for (; k + 16 <= a.length; k += 16) {
        std::memcpy(block, to + k, sizeof(block));
        for (int64_t i = 0; i < 16; ++i) fn(block[i], from[k + i]);
        std::memcpy(to + k, block, sizeof(block));
      }
    }
    for (; k < a.length; ++k) fn(to[k], from[k]);
  }
}

/// Elements of this many bytes.
template <class Word>
void write(const ScatterArgs& a) {
  if (a.length == 1) return for_each_update<Word>(a, [](Word& to, Word from) { to = from; });
  for (int64_t p = 0; p < a.count; ++p)
    if (a.places[p] != kNowhere)
      std::memcpy(static_cast<Word*>(a.dst) + a.places[p], static_cast<const Word*>(a.updates) + p * a.update_step,
                  static_cast<size_t>(a.length) * sizeof(Word));
}

template <class T, class Index, ScatterReduction kReduction = ScatterReduction::none>
int64_t combine_row(const ScatterRow& row) {
  // Copies, since a write of a word of 64 bits might be one to the row itself for all that the compiler knows.
  const ScatterRow r = row;
  const auto* indices = static_cast<const Index*>(r.indices);
  const auto* updates = static_cast<const T*>(r.updates);
  auto* dst = static_cast<T*>(r.dst);
  for (int64_t i = 0; i < r.count; ++i) {
    const int64_t index = indices[i], position = index < 0 ? index + r.extent : index;
    if (static_cast<uint64_t>(position) >= static_cast<uint64_t>(r.extent)) return i;
    T& to = dst[position * r.stride + i * r.step];
    to = ops::reference::combined<T>(kReduction, to, updates[i * r.update_step]);
  }
  return r.count;
}

template <class Index>
ScatterRowFn row_writer(size_t element_bytes) {
  constexpr ScatterRowFn kBySize[] = {nullptr,
                                      &combine_row<uint8_t, Index>,
                                      &combine_row<uint16_t, Index>,
                                      nullptr,
                                      &combine_row<uint32_t, Index>,
                                      nullptr,
                                      nullptr,
                                      nullptr,
                                      &combine_row<uint64_t, Index>};
  return element_bytes <= 8 ? kBySize[element_bytes] : nullptr;
}

template <class Index>
ScatterRowFn row_combiner(ScatterReduction reduction) {
  switch (reduction) {
    case ScatterReduction::sum:
      return &combine_row<float, Index, ScatterReduction::sum>;
    case ScatterReduction::prod:
      return &combine_row<float, Index, ScatterReduction::prod>;
    case ScatterReduction::min:
      return &combine_row<float, Index, ScatterReduction::min>;
    case ScatterReduction::max:
      return &combine_row<float, Index, ScatterReduction::max>;
    default:
      return nullptr;
  }
}

template <class T, ScatterReduction kReduction>
void combine(const ScatterArgs& a) {
  using C = ops::reference::compute_t<T>;
  for_each_update<T, std::is_same_v<T, float>>(a, [](T& to, T from) {
    to = static_cast<T>(ops::reference::combined<C>(kReduction, static_cast<C>(to), static_cast<C>(from)));
  });
}

template <class T, ScatterReduction kReduction>
void start(const ScatterArgs& a) {
  using C = ops::reference::compute_t<T>;
  for_each_update<T>(a, [](T& to, T) { to = static_cast<T>(ops::reference::neutral<C>(kReduction)); });
}

template <ScatterReduction kReduction>
void combine_bool(const ScatterArgs& a) {
  for_each_update<uint8_t>(a,
                           [](uint8_t& to, uint8_t from) { to = ops::reference::combined_bool(kReduction, to, from); });
}

template <ScatterReduction kReduction>
void start_bool(const ScatterArgs& a) {
  constexpr bool kStart = kReduction == ScatterReduction::prod || kReduction == ScatterReduction::min;
  for_each_update<uint8_t>(a, [](uint8_t& to, uint8_t) { to = kStart; });
}

template <class T>
ScatterFn combine_for(ScatterReduction reduction, bool starts) {
  switch (reduction) {
    case ScatterReduction::sum:
      return starts ? &start<T, ScatterReduction::sum> : &combine<T, ScatterReduction::sum>;
    case ScatterReduction::sub:
      return starts ? &start<T, ScatterReduction::sub> : &combine<T, ScatterReduction::sub>;
    case ScatterReduction::prod:
      return starts ? &start<T, ScatterReduction::prod> : &combine<T, ScatterReduction::prod>;
    case ScatterReduction::min:
      return starts ? &start<T, ScatterReduction::min> : &combine<T, ScatterReduction::min>;
    case ScatterReduction::max:
      return starts ? &start<T, ScatterReduction::max> : &combine<T, ScatterReduction::max>;
    default:
      return nullptr;
  }
}

ScatterFn combine_bool_for(ScatterReduction reduction, bool starts) {
  switch (reduction) {
    case ScatterReduction::sum:
    case ScatterReduction::max:
      return starts ? &start_bool<ScatterReduction::sum> : &combine_bool<ScatterReduction::sum>;
    case ScatterReduction::prod:
    case ScatterReduction::min:
      return starts ? &start_bool<ScatterReduction::prod> : &combine_bool<ScatterReduction::prod>;
    case ScatterReduction::sub:
      return starts ? &start_bool<ScatterReduction::sub> : &combine_bool<ScatterReduction::sub>;
    default:
      return nullptr;
  }
}

template <class T>
void add_to_mean(const ScatterArgs& a, void* sums, int32_t* counts, bool use_init_val) {
  using C = ops::reference::compute_t<T>;
  using Sum = ops::reference::ScatterSum<T>;
  static_assert(sizeof(Sum) <= ScatterMean::kSumBytes);
  auto* bytes = static_cast<char*>(sums);
  for_each_update<T>(a, [&](T& to, T from) {
    const int64_t at = &to - static_cast<T*>(a.dst);
    Sum sum{0};
    if (counts[at] > 0)
      std::memcpy(&sum, bytes + at * ScatterMean::kSumBytes, sizeof(Sum));
    else if (use_init_val)
      sum = static_cast<Sum>(static_cast<C>(to));
    counts[at] += counts[at] == 0 && use_init_val ? 2 : 1;
    sum = ops::reference::combined(ScatterReduction::sum, sum, static_cast<Sum>(static_cast<C>(from)));
    std::memcpy(bytes + at * ScatterMean::kSumBytes, &sum, sizeof(Sum));
  });
}

template <class T>
void finish_mean(void* dst, const void* sums, const int32_t* counts, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    if (counts[i] == 0) continue;
    ops::reference::ScatterSum<T> sum;
    std::memcpy(&sum, static_cast<const char*>(sums) + i * ScatterMean::kSumBytes, sizeof(sum));
    static_cast<T*>(dst)[i] = ops::reference::mean_of<T>(sum, counts[i]);
  }
}

/// fn.template operator()<T>() for the C++ type of a number; a default value for others.
template <class Result, class... Ts, class Fn>
Result with_number(element::Type type, Fn&& fn) {
  Result result{};
  ((element::from<Ts>() == type ? (result = fn.template operator()<Ts>(), true) : false) || ...);
  return result;
}

}  // namespace

ScatterFn scatter_kernel(element::Type type, ScatterReduction reduction) {
  if (reduction == ScatterReduction::none) {
    constexpr ScatterFn kBySize[] = {nullptr, &write<uint8_t>, &write<uint16_t>, nullptr,         &write<uint32_t>,
                                     nullptr, nullptr,         nullptr,          &write<uint64_t>};
    return type.size() <= 8 ? kBySize[type.size()] : nullptr;
  }
  if (type == element::boolean) return combine_bool_for(reduction, false);
  return with_number<ScatterFn, TERROIR_NUMBERS>(type, [&]<class T>() { return combine_for<T>(reduction, false); });
}

ScatterRowFn scatter_row_kernel(element::Type type, element::Type index_type, ScatterReduction reduction) {
  const bool wide = index_type == element::i64;
  if (reduction == ScatterReduction::none)
    return wide ? row_writer<int64_t>(type.size()) : row_writer<int32_t>(type.size());
  if (type != element::f32) return nullptr;
  return wide ? row_combiner<int64_t>(reduction) : row_combiner<int32_t>(reduction);
}

ScatterFn scatter_start_kernel(element::Type type, ScatterReduction reduction) {
  if (type == element::boolean) return combine_bool_for(reduction, true);
  return with_number<ScatterFn, TERROIR_NUMBERS>(type, [&]<class T>() { return combine_for<T>(reduction, true); });
}

ScatterMean scatter_mean_kernel(element::Type type) {
  return with_number<ScatterMean, TERROIR_NUMBERS>(type, []<class T>() {
    return ScatterMean{&add_to_mean<T>, &finish_mean<T>};
  });
}

}  // namespace terroir::cpu
