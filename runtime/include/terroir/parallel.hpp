// Loops over extents in evaluate() of a program's own layers, shared out to the threads of the inference.
//
//   bool Scale::evaluate(TensorVector& outputs, const TensorVector& inputs) const {
//     parallel_for(outputs[0].get_size(), [&](size_t i) { out[i] = in[i] * by_; });
//
// What: the names of OpenVINO's openvino/core/parallel.hpp. A body takes the indices, the last one the fastest; with
//       one parameter more, the number of the part before them; with two, that and the position in the whole loop.
// Threads: parts run at the same time, so a body writes to what is its own. How a loop is cut follows from the extents
//       alone, parts of neighbours, as many for one thread as for fifty, so results are the same bits. Loops within
//       loops, and those of threads that compute no layer, are not shared out.
// Errors: what leaves a body is thrown again when the other parts have ended.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

namespace terroir {
namespace detail {

/// Parts of a loop: more than one layer is given threads, few enough to cost little.
inline constexpr int kLoopParts = 64;

using LoopPart = void (*)(void* context, int64_t part);
/// Who runs the loops of the layer that a thread computes.
struct LoopRunner {
  void (*run)(const void* of, int64_t parts, LoopPart part, void* context);
  const void* of;
};
/// Of this thread; null if it computes no layer, or is within a loop.
inline thread_local const LoopRunner* loop_runner = nullptr;
/// Which of kLoopParts places of the outermost loop this thread runs; -1 outside of loops.
inline thread_local int loop_part = -1;

/// The variable has another value until this ends.
template <typename T>
class Meanwhile {
 public:
  Meanwhile(T& variable, T value) : variable_(variable), before_(std::exchange(variable, value)) {}
  ~Meanwhile() { variable_ = before_; }
  Meanwhile(const Meanwhile&) = delete;
  Meanwhile& operator=(const Meanwhile&) = delete;

 private:
  T& variable_;
  T before_;
};

/// body(0) ... body(parts - 1), each once; parts beyond kLoopParts share a place with their neighbours.
template <typename Body>
void run_parts(int parts, const Body& body) {
  struct Loop {
    const Body& body;
    int parts, places;
  } loop{body, parts, std::min(parts, kLoopParts)};
  const LoopPart part = [](void* context, int64_t place) {
    const auto& all = *static_cast<const Loop*>(context);
    const Meanwhile<const LoopRunner*> inside(loop_runner, nullptr);
    // Loops within loops stay at the place of the outermost one: two threads are never at the same.
    const Meanwhile<int> placed(loop_part, loop_part < 0 ? static_cast<int>(place) : loop_part);
    const auto begin = static_cast<int>(place * all.parts / all.places);
    const auto end = static_cast<int>((place + 1) * all.parts / all.places);
    for (int number = begin; number < end; ++number) all.body(number);
  };
  if (const LoopRunner* const runner = loop_runner; runner != nullptr && loop.places > 1) {
    runner->run(runner->of, loop.places, part, &loop);
  } else {
    for (int place = 0; place < loop.places; ++place) part(&loop, place);
  }
}

template <typename Body, typename... Index>
void call_body(const Body& body, int part, size_t position, Index... index) {
  if constexpr (std::is_invocable_v<const Body&, Index...>) {
    body(index...);
  } else if constexpr (std::is_invocable_v<const Body&, int, Index...>) {
    body(part, index...);
  } else {
    body(part, position, index...);
  }
}

/// Part `part` of `parts` of a loop over all extents.
template <typename Body, typename... Extent, size_t... Axis>
void loop_part_of(int part, int parts, const Body& body, const std::tuple<Extent...>& extents,
                  std::index_sequence<Axis...>);

}  // namespace detail

/// Part `part` of [0, count) in `parts` parts of neighbours, the first of which have one more if they cannot be equal.
template <typename T, typename Q>
void splitter(const T& count, const Q& parts, const Q& part, T& begin, T& end) {
  if (parts <= 1 || count == 0) {
    begin = 0;
    end = count;
    return;
  }
  const T each = count / static_cast<T>(parts), more = count % static_cast<T>(parts), number = static_cast<T>(part);
  begin = number * each + std::min(number, more);
  end = begin + each + (number < more ? 1 : 0);
}

/// The indices of position `start` in a loop over extents: parallel_it_init(start, i, I, j, J); what is left of it.
template <typename T>
T parallel_it_init(T start) {
  return start;
}
template <typename T, typename Q, typename R, typename... More>
T parallel_it_init(T start, Q& index, const R& extent, More&&... more) {
  start = parallel_it_init(start, std::forward<More>(more)...);
  index = static_cast<Q>(start % static_cast<T>(extent));
  return start / static_cast<T>(extent);
}
/// Their next position; true behind the last one.
inline bool parallel_it_step() { return true; }
template <typename Q, typename R, typename... More>
bool parallel_it_step(Q& index, const R& extent, More&&... more) {
  if (!parallel_it_step(std::forward<More>(more)...)) return false;
  if (++index != static_cast<Q>(extent)) return false;
  index = 0;
  return true;
}

template <typename Body, typename... Extent, size_t... Axis>
void detail::loop_part_of(int part, int parts, const Body& body, const std::tuple<Extent...>& extents,
                          std::index_sequence<Axis...>) {
  const size_t count = (static_cast<size_t>(std::get<Axis>(extents)) * ... * size_t{1});
  if (count == 0) return;
  size_t position = 0, end = 0;
  splitter(count, parts, part, position, end);
  std::tuple<Extent...> at{};
  const auto with_extents = [&](const auto& function) {
    std::apply(function, std::tuple_cat(std::tie(std::get<Axis>(at), std::get<Axis>(extents))...));
  };
  with_extents([&](auto&... pairs) { parallel_it_init(position, pairs...); });
  for (; position < end; ++position) {
    call_body(body, part, position, std::get<Axis>(at)...);
    with_extents([](auto&... pairs) { parallel_it_step(pairs...); });
  }
}

/// The parts that parallel_nt() has when it is not told, and a bound for parallel_get_thread_num(): for memory that
/// threads do not share. It is no number of threads.
inline int parallel_get_max_threads() { return detail::kLoopParts; }
inline int parallel_get_num_threads() { return detail::kLoopParts; }
/// A number that no other thread has in the outermost loop, below parallel_get_max_threads(): that of the part which
/// the calling thread runs, or of several neighbours where there are more parts. 0 outside of loops.
inline int parallel_get_thread_num() { return std::max(detail::loop_part, 0); }
/// The inference has the threads that it has.
inline void parallel_set_num_threads(int) {}
inline int parallel_get_env_threads() { return 0; }

/// body(part, parts) for each part; 0 parts are parallel_get_max_threads().
template <typename Body>
void parallel_nt(int parts, const Body& body) {
  if (parts == 0) parts = parallel_get_max_threads();
  detail::run_parts(parts, [&](int part) { body(part, parts); });
}
template <typename Body>
void parallel_nt_static(int parts, const Body& body) {
  parallel_nt(parts, body);
}

namespace detail {

template <typename Body, typename... Extent>
void loop(const Body& body, const Extent&... extent) {
  const size_t count = (static_cast<size_t>(extent) * ... * size_t{1});
  const int parts = static_cast<int>(std::min<size_t>(count, kLoopParts));
  const std::tuple<Extent...> extents(extent...);
  run_parts(parts, [&](int part) { loop_part_of(part, parts, body, extents, std::index_sequence_for<Extent...>()); });
}

/// Parts are summed in their order, so the sum is the same for any number of threads.
template <typename R, typename Body, typename... Extent>
R sum(const R& initial, const Body& body, const Extent&... extent) {
  const size_t count = (static_cast<size_t>(extent) * ... * size_t{1});
  const int parts = static_cast<int>(std::min<size_t>(count, kLoopParts));
  const std::tuple<Extent...> extents(extent...);
  std::array<R, kLoopParts> sums{};
  run_parts(parts, [&](int part) {
    R mine{};  // not in place: parts would write to the same cache line
    const auto add = [&](const Extent&... index) { mine = static_cast<R>(mine + static_cast<R>(body(index...))); };
    loop_part_of(part, parts, add, extents, std::index_sequence_for<Extent...>());
    sums[static_cast<size_t>(part)] = mine;
  });
  R all = initial;
  for (int part = 0; part < parts; ++part) all = static_cast<R>(all + sums[static_cast<size_t>(part)]);
  return all;
}

}  // namespace detail

/// body(i) for each i of [0, extent); body(i, j) ... for each position of several extents.
template <typename D0, typename Body>
void parallel_for(const D0& d0, const Body& body) {
  detail::loop(body, d0);
}
template <typename D0, typename D1, typename Body>
void parallel_for2d(const D0& d0, const D1& d1, const Body& body) {
  detail::loop(body, d0, d1);
}
template <typename D0, typename D1, typename Body>
void parallel_for2d_dynamic(const D0& d0, const D1& d1, const Body& body) {
  detail::loop(body, d0, d1);
}
template <typename D0, typename D1, typename D2, typename Body>
void parallel_for3d(const D0& d0, const D1& d1, const D2& d2, const Body& body) {
  detail::loop(body, d0, d1, d2);
}
template <typename D0, typename D1, typename D2, typename Body>
void parallel_for3d_dynamic(const D0& d0, const D1& d1, const D2& d2, const Body& body) {
  detail::loop(body, d0, d1, d2);
}
template <typename D0, typename D1, typename D2, typename D3, typename Body>
void parallel_for4d(const D0& d0, const D1& d1, const D2& d2, const D3& d3, const Body& body) {
  detail::loop(body, d0, d1, d2, d3);
}
template <typename D0, typename D1, typename D2, typename D3, typename D4, typename Body>
void parallel_for5d(const D0& d0, const D1& d1, const D2& d2, const D3& d3, const D4& d4, const Body& body) {
  detail::loop(body, d0, d1, d2, d3, d4);
}
template <typename D0, typename D1, typename D2, typename D3, typename D4, typename D5, typename Body>
void parallel_for6d(const D0& d0, const D1& d1, const D2& d2, const D3& d3, const D4& d4, const D5& d5,
                    const Body& body) {
  detail::loop(body, d0, d1, d2, d3, d4, d5);
}

/// The part of one of `parts` of such a loop, for bodies of parallel_nt().
template <typename D0, typename Body>
void for_1d(int part, int parts, const D0& d0, const Body& body) {
  detail::loop_part_of(part, parts, body, std::tuple<D0>(d0), std::index_sequence_for<D0>());
}
template <typename D0, typename D1, typename Body>
void for_2d(int part, int parts, const D0& d0, const D1& d1, const Body& body) {
  detail::loop_part_of(part, parts, body, std::tuple<D0, D1>(d0, d1), std::index_sequence_for<D0, D1>());
}
template <typename D0, typename D1, typename D2, typename Body>
void for_3d(int part, int parts, const D0& d0, const D1& d1, const D2& d2, const Body& body) {
  detail::loop_part_of(part, parts, body, std::tuple<D0, D1, D2>(d0, d1, d2), std::index_sequence_for<D0, D1, D2>());
}
template <typename D0, typename D1, typename D2, typename D3, typename Body>
void for_4d(int part, int parts, const D0& d0, const D1& d1, const D2& d2, const D3& d3, const Body& body) {
  detail::loop_part_of(part, parts, body, std::tuple<D0, D1, D2, D3>(d0, d1, d2, d3),
                       std::index_sequence_for<D0, D1, D2, D3>());
}

/// `initial` and body(i) of all positions.
template <typename D0, typename R, typename Body>
R parallel_sum(const D0& d0, const R& initial, const Body& body) {
  return detail::sum(initial, body, d0);
}
template <typename D0, typename D1, typename R, typename Body>
R parallel_sum2d(const D0& d0, const D1& d1, const R& initial, const Body& body) {
  return detail::sum(initial, body, d0, d1);
}
template <typename D0, typename D1, typename D2, typename R, typename Body>
R parallel_sum3d(const D0& d0, const D1& d1, const D2& d2, const R& initial, const Body& body) {
  return detail::sum(initial, body, d0, d1, d2);
}

/// In the calling thread.
template <typename Iterator, typename Less>
void parallel_sort(Iterator begin, Iterator end, const Less& less) {
  std::sort(begin, end, less);
}

}  // namespace terroir
