#include "ops/reference/image/interpolate.hpp"

#include <algorithm>
#include <cmath>

#include "ops/reference/accumulate.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/reference/element_copy.hpp"
#include "ops/reference/numeric.hpp"
#include "ops/reference/parallel.hpp"

namespace terroir::ops::reference {
namespace {

struct Image {
  ir::Dims dims;
  std::vector<double> values;
};

Image resize_axis(const Image& src, const ResampledAxis& along) {
  Image dst;
  dst.dims = src.dims;
  dst.dims[along.axis] = along.table.outputs();
  int64_t inner = 1, outer = 1;
  for (size_t axis = 0; axis < src.dims.size(); ++axis) {
    if (axis < along.axis) outer *= src.dims[axis];
    if (axis > along.axis) inner *= src.dims[axis];
  }
  const int64_t from = src.dims[along.axis], to = along.table.outputs();
  dst.values.assign(static_cast<size_t>(ir::element_count(dst.dims)), 0.0);
  parallel_ranges(outer * to, std::max<int64_t>(1, 16384 / std::max<int64_t>(inner, 1)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t at = begin; at < end; ++at) {
                      double* line = dst.values.data() + at * inner;
                      const auto o = static_cast<size_t>(at % to);
                      for (int64_t t = along.table.first[o]; t < along.table.first[o + 1]; ++t) {
                        const ResampleTap& tap = along.table.taps[static_cast<size_t>(t)];
                        const double* source = src.values.data() + (at / to * from + tap.index) * inner;
                        for (int64_t i = 0; i < inner; ++i) line[i] += source[i] * tap.weight;
                      }
                    }
                  });
  return dst;
}

template <class T>
T to_element(double value, IntegerResult integers) {
  if constexpr (std::is_integral_v<T>) {
    // The margin keeps the sum of weights that is short of 1 by rounding from costing a whole step.
    return saturate<T>(integers == IntegerResult::truncate ? value + std::copysign(1e-6, value) : std::round(value));
  } else {
    return from_sum<T>(value);
  }
}

template <class T>
double as_double(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<double>(value);
  } else {
    return to_sum(value);
  }
}

}  // namespace

void resize_nearest(const ir::TensorView& src, const std::vector<ResampledAxis>& axes,
                    const ir::MutableTensorView& dst) {
  const ElementCopier copier(src.type, "Interpolate");
  const ir::Dims steps = ir::row_major(src.dims);
  std::vector<const ResampleTable*> tables(src.dims.size(), nullptr);
  for (const ResampledAxis& along : axes) tables[along.axis] = &along.table;
  const size_t rank = dst.dims.size();
  const int64_t columns = dst.dims.back();
  parallel_ranges(dst.count() / columns, std::max<int64_t>(1, 16384 / columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        int64_t at = 0, rest = row * columns + column;
        bool inside = true;
        for (size_t axis = rank; axis-- > 0; rest /= dst.dims[axis]) {
          int64_t i = rest % dst.dims[axis];
          if (const ResampleTable* table = tables[axis]) {
            const auto o = static_cast<size_t>(i);
            inside = inside && table->first[o] < table->first[o + 1];
            i = inside ? table->taps[static_cast<size_t>(table->first[o])].index : 0;
          }
          at += i * steps[axis];
        }
        if (inside)
          copier.copy(dst.data, row * columns + column, src.data, at, 1);
        else
          copier.clear(dst.data, row * columns + column, 1);
      }
  });
}

void resize(const ir::TensorView& src, std::vector<ResampledAxis> axes, IntegerResult integers,
            const ir::MutableTensorView& dst) {
  const bool round_each = integers == IntegerResult::round_each_pass && src.type.is_integral();
  if (!round_each)
    std::stable_sort(axes.begin(), axes.end(), [&](const ResampledAxis& a, const ResampledAxis& b) {
      const auto growth = [&](const ResampledAxis& x) {
        return static_cast<double>(x.table.outputs()) / static_cast<double>(std::max<int64_t>(src.dims[x.axis], 1));
      };
      return growth(a) < growth(b);
    });
  dispatch_type<TERROIR_NUMBERS>(src.type, "Interpolate", [&](auto tag) {
    using T = decltype(tag);
    T* to = dst.as<T>();
    Image image{src.dims, {}};
    image.values.resize(static_cast<size_t>(src.count()));
    std::transform(src.as<T>(), src.as<T>() + src.count(), image.values.begin(), [](T x) { return as_double(x); });
    for (const ResampledAxis& along : axes) {
      image = resize_axis(image, along);
      if (round_each)
        for (double& value : image.values) value = as_double(to_element<T>(value, IntegerResult::round));
    }
    parallel_ranges(dst.count(), 16384, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = to_element<T>(image.values[static_cast<size_t>(i)], integers);
    });
  });
}

}  // namespace terroir::ops::reference
