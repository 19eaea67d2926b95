#include "ops/reference/movement/col2im.hpp"

#include "ops/reference/dispatch.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

template <class T>
T sum(T a, T b) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  return static_cast<T>(static_cast<compute_t<T>>(a) + static_cast<compute_t<T>>(b));
}

}  // namespace

void col2im(const ir::EvalContext& ctx, const Col2ImParams& params) {
  const ir::TensorView& data = ctx.inputs[0];
  const ir::MutableTensorView& output = ctx.outputs[0];
  const size_t first = data.dims.size() - 2;
  const int64_t taps = params.kernel[0] * params.kernel[1];
  const int64_t columns = data.dims[first];
  if (columns % taps != 0 || data.dims.back() != params.blocks[0] * params.blocks[1])
    throw_error(ErrorCode::shape_mismatch, "Col2Im: data ", data.dims, " does not hold ", params.blocks[0], " * ",
                params.blocks[1], " blocks of ", taps, " elements");
  ir::Dims wanted(data.dims.begin(), data.dims.end() - 2);
  const int64_t planes = ir::element_count(wanted) * (columns / taps);
  wanted.insert(wanted.end(), {columns / taps, params.size[0], params.size[1]});
  require_dims(output, wanted, "Col2Im");
  dispatch_type<TERROIR_NUMBERS>(data.type, "Col2Im", [&](auto tag) {
    using T = decltype(tag);
    const T* src = data.as<T>();
    T* dst = output.as<T>();
    std::fill(dst, dst + output.count(), T(0));
    for (int64_t plane = 0; plane < planes; ++plane) {
      T* image = dst + plane * params.size[0] * params.size[1];
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t by = 0; by < params.blocks[0]; ++by) {
          for (int64_t bx = 0; bx < params.blocks[1]; ++bx, ++src) {
            const int64_t y =
                by * params.strides[0] - params.pads_begin[0] + tap / params.kernel[1] * params.dilations[0];
            const int64_t x =
                bx * params.strides[1] - params.pads_begin[1] + tap % params.kernel[1] * params.dilations[1];
            if (y < 0 || y >= params.size[0] || x < 0 || x >= params.size[1]) continue;
            T& pixel = image[y * params.size[1] + x];
            pixel = sum(pixel, *src);
          }
        }
      }
    }
  });
}

}  // namespace terroir::ops::reference
