#include "ops/reference/quantization/fake_quantize.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/reference/dispatch.hpp"
#include "ops/shape/broadcast.hpp"

namespace terroir::ops::reference {
namespace {

constexpr int64_t kBlock = 128;
constexpr int64_t kVector = 8;  // a block's limits have room for as many elements behind its last one

/// Elements beside the limits that belong to them.
template <class C>
struct Block {
  C x[kBlock]{};
  C limits[4][kBlock + kVector]{};
};

/// std::nearbyint() when it rounds to even, which is a call for each element.
template <class C>
C to_even(C x) {
  constexpr C kWhole = 1 / std::numeric_limits<C>::epsilon();  // there is nothing between integers from here on
  const C size = std::abs(x);
  const C rounded = std::copysign(size + kWhole - kWhole, x);
  return size < kWhole ? rounded : x;
}

/// The whole block, whatever of it is in use: the compiler makes vectors of a loop whose length it knows.
template <class C>
void quantize(Block<C>& block, C steps) {
  for (int64_t i = 0; i < kBlock; ++i) {
    const C x = block.x[i];
    const C input_low = block.limits[0][i];
    const C input_high = block.limits[1][i];
    const C output_low = block.limits[2][i];
    const C output_high = block.limits[3][i];
    const C level = to_even((x - input_low) / (input_high - input_low) * steps);
    const C inside = level / steps * (output_high - output_low) + output_low;
    const C below_high = x > std::max(input_low, input_high) ? output_high : inside;
    block.x[i] = x <= std::min(input_low, input_high) ? output_low : below_high;
  }
}

/// A limit of one element after the other.
struct Limit {
  const void* data;
  BroadcastWalk walk;
  int64_t at = 0;  // in the run

  /// Those of the next `count` elements. `to` is as the last call has left it, which was for a whole block.
  template <class T>
  void read(compute_t<T>* to, int64_t count) {
    while (count > 0) {
      if (at == walk.run()) {
        walk.next();
        at = 0;
      }
      const int64_t n = std::min(count, walk.run() - at);
      const int64_t step = walk.step(0);
      const T* from = static_cast<const T*>(data) + walk.offset(0) + at * step;
      if (step != 0)
        for (int64_t i = 0; i < n; ++i) to[i] = static_cast<compute_t<T>>(from[i * step]);
      else if (at < kBlock)  // else it is there
        for (int64_t i = 0; i < n; i += kVector) std::fill_n(to + i, kVector, static_cast<compute_t<T>>(*from));
      at += n;
      to += n;
      count -= n;
    }
  }
};

}  // namespace

void fake_quantize(const ir::TensorView& src, const std::array<ir::TensorView, 4>& limits,
                   const std::array<ir::Dims, 4>& limit_dims, int64_t levels, const ir::MutableTensorView& dst) {
  const auto limit = [&](size_t l) -> Limit { return {limits[l].data, {src.dims, {limit_dims[l]}}}; };
  std::array<Limit, 4> walks = {limit(0), limit(1), limit(2), limit(3)};
  const int64_t count = src.count();
  dispatch_type<TERROIR_FLOATS>(src.type, "FakeQuantize", [&](auto tag) {
    using T = decltype(tag);
    using C = compute_t<T>;
    const T* from = src.as<T>();
    T* to = dst.as<T>();
    Block<C> block;
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t n = std::min(kBlock, count - begin);
      for (int64_t i = 0; i < n; ++i) block.x[i] = static_cast<C>(from[begin + i]);
      for (size_t l = 0; l < 4; ++l) walks[l].read<T>(block.limits[l], n);
      quantize(block, static_cast<C>(levels - 1));
      for (int64_t i = 0; i < n; ++i) to[begin + i] = static_cast<T>(block.x[i]);
    }
  });
}

}  // namespace terroir::ops::reference
