#include "ops/reference/signals/fourier.hpp"

#include <algorithm>
#include <cmath>
#include <complex>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/dispatch.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

using Complex = std::complex<double>;
using Line = std::vector<Complex>;

size_t smallest_factor(size_t n) {
  for (size_t p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

/// sum over j of x[j] exp(sign * 2 pi i j k / n), by splitting off one prime factor after the other.
Line transform(const Line& x, double sign) {
  const size_t n = x.size();
  if (n <= 1) return x;
  const size_t p = smallest_factor(n), m = n / p;
  const auto root = [&](size_t power) {
    return std::polar(1.0,
                      sign * 2.0 * 3.14159265358979323846 * static_cast<double>(power % n) / static_cast<double>(n));
  };
  std::vector<Line> parts(p, Line(m));
  for (size_t r = 0; r < p; ++r) {
    for (size_t k = 0; k < m; ++k) parts[r][k] = x[k * p + r];
    parts[r] = transform(parts[r], sign);
  }
  std::vector<Complex> roots(n);
  for (size_t k = 0; k < n; ++k) roots[k] = root(k);
  Line result(n);
  for (size_t k = 0; k < n; ++k)
    for (size_t r = 0; r < p; ++r) result[k] += roots[r * k % n] * parts[r][k % m];
  return result;
}

Line inverse(const Line& x) {
  Line result = transform(x, 1.0);
  for (Complex& value : result) value /= static_cast<double>(x.size());
  return result;
}

/// The spectrum of a real signal of `size` from its first half; what is missing is 0.
Line whole_spectrum(const Line& half, size_t size) {
  Line whole(size);
  for (size_t k = 0; k <= size / 2 && k < half.size() && k < size; ++k) {
    whole[k] = half[k];
    if (k > 0) whole[size - k] = std::conj(half[k]);
  }
  return whole;
}

/// A complex tensor on its way through the axes.
struct Field {
  ir::Dims dims;
  Line values;

  /// Replaces each line along `axis`, now of `size`, by fn(line), of `result` values.
  template <class Fn>
  void map(size_t axis, int64_t size, int64_t result, Fn&& fn) {
    const auto split = dims.begin() + static_cast<std::ptrdiff_t>(axis);
    const int64_t outer = ir::element_count({dims.begin(), split});
    const int64_t inner = ir::element_count({split + 1, dims.end()});
    const int64_t extent = dims[axis];
    Line mapped(static_cast<size_t>(ir::element_count({outer, result, inner})));
    Line line(static_cast<size_t>(size));
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        std::fill(line.begin(), line.end(), Complex());
        for (int64_t k = 0; k < std::min(extent, size); ++k)
          line[static_cast<size_t>(k)] = values[static_cast<size_t>((o * extent + k) * inner + i)];
        const Line done = fn(line);
        for (int64_t k = 0; k < result; ++k)
          mapped[static_cast<size_t>((o * result + k) * inner + i)] = done[static_cast<size_t>(k)];
      }
    }
    values = std::move(mapped);
    dims[axis] = result;
  }
};

void write(const std::vector<double>& values, const ir::MutableTensorView& tensor, const char* op) {
  dispatch_type<TERROIR_FLOATS>(tensor.type, op, [&](auto tag) {
    using T = decltype(tag);
    T* dst = tensor.as<T>();
    for (size_t i = 0; i < values.size(); ++i) dst[i] = static_cast<T>(static_cast<compute_t<T>>(values[i]));
  });
}

/// The window in the middle of a frame.
std::vector<double> centred_window(const ir::TensorView& window, int64_t frame_size, const char* op) {
  const std::vector<double> values = ir::to_reals(window);
  const auto length = static_cast<int64_t>(values.size());
  if (length > frame_size)
    throw_error(ErrorCode::invalid_argument, op, ": the window has ", length, " values, more than the frame size ",
                frame_size);
  std::vector<double> whole(static_cast<size_t>(frame_size), 0.0);
  std::copy(values.begin(), values.end(), whole.begin() + (frame_size - length) / 2);
  return whole;
}

void require_frames(const FrameParams& frames, const char* op) {
  if (frames.frame_size < 1 || frames.frame_step < 1)
    throw_error(ErrorCode::invalid_argument, op, ": frame_size and frame_step must be positive, got ",
                frames.frame_size, " and ", frames.frame_step);
}

}  // namespace

void fourier(const ir::EvalContext& ctx, const FourierParams& params) {
  constexpr const char* kOp = "Fourier transform";
  const ir::TensorView& data = ctx.inputs[0];
  const std::vector<double> reals = ir::to_reals(data);
  Field field{data.dims, {}};
  if (params.real == RealSide::input) {
    field.values.assign(reals.begin(), reals.end());
  } else {
    if (data.dims.empty() || data.dims.back() != 2)
      throw_error(ErrorCode::shape_mismatch, kOp, ": data ", data.dims, " must have 2 values on its last axis");
    field.dims.pop_back();
    for (size_t i = 0; i + 1 < reals.size(); i += 2) field.values.emplace_back(reals[i], reals[i + 1]);
  }
  for (size_t i = 0; i < params.axes.size(); ++i) {
    const auto axis = static_cast<size_t>(params.axes[i]);
    const int64_t size = params.sizes[i];
    const bool last = i + 1 == params.axes.size();
    if (last && params.real == RealSide::output) {
      field.map(axis, size / 2 + 1, size,
                [&](const Line& line) { return inverse(whole_spectrum(line, static_cast<size_t>(size))); });
    } else {
      const int64_t kept = last && params.real == RealSide::input ? size / 2 + 1 : size;
      field.map(axis, size, kept,
                [&](const Line& line) { return params.inverse ? inverse(line) : transform(line, -1.0); });
    }
  }
  ir::Dims wanted = field.dims;
  std::vector<double> result;
  if (params.real == RealSide::output) {
    for (const Complex& value : field.values) result.push_back(value.real());
  } else {
    wanted.push_back(2);
    for (const Complex& value : field.values) result.insert(result.end(), {value.real(), value.imag()});
  }
  require_dims(ctx.outputs[0], wanted, kOp);
  write(result, ctx.outputs[0], kOp);
}

void stft(const ir::EvalContext& ctx, const FrameParams& frames, bool transpose_frames) {
  constexpr const char* kOp = "STFT";
  require_frames(frames, kOp);
  const ir::Dims& dims = ctx.inputs[0].dims;
  const int64_t length = dims.back(), size = frames.frame_size;
  const int64_t count = length < size ? 0 : (length - size) / frames.frame_step + 1;
  const int64_t bins = size / 2 + 1;
  ir::Dims wanted(dims.begin(), dims.end() - 1);
  const int64_t batch = ir::element_count(wanted);
  wanted.insert(wanted.end(), {transpose_frames ? bins : count, transpose_frames ? count : bins, 2});
  require_dims(ctx.outputs[0], wanted, kOp);
  const std::vector<double> signal = ir::to_reals(ctx.inputs[0]);
  const std::vector<double> window = centred_window(ctx.inputs[1], size, kOp);
  std::vector<double> result(static_cast<size_t>(ctx.outputs[0].count()));
  Line line(static_cast<size_t>(size));
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t frame = 0; frame < count; ++frame) {
      for (size_t k = 0; k < line.size(); ++k)
        line[k] = signal[static_cast<size_t>(n * length + frame * frames.frame_step) + k] * window[k];
      const Line spectrum = transform(line, -1.0);
      for (int64_t bin = 0; bin < bins; ++bin) {
        const int64_t at = n * count * bins + (transpose_frames ? bin * count + frame : frame * bins + bin);
        result[static_cast<size_t>(at) * 2] = spectrum[static_cast<size_t>(bin)].real();
        result[static_cast<size_t>(at) * 2 + 1] = spectrum[static_cast<size_t>(bin)].imag();
      }
    }
  }
  write(result, ctx.outputs[0], kOp);
}

void istft(const ir::EvalContext& ctx, const FrameParams& frames, bool center, bool normalized) {
  constexpr const char* kOp = "ISTFT";
  require_frames(frames, kOp);
  const ir::Dims& dims = ctx.inputs[0].dims;
  const int64_t size = frames.frame_size, bins = size / 2 + 1;
  if (dims.size() < 3 || dims.size() > 4 || dims.back() != 2 || dims[dims.size() - 3] != bins)
    throw_error(ErrorCode::shape_mismatch, kOp, ": data ", dims, " does not hold ", bins, " values of each frame");
  const int64_t count = dims[dims.size() - 2];
  const int64_t batch = dims.size() == 4 ? dims[0] : 1;
  const ir::MutableTensorView& output = ctx.outputs[0];
  const int64_t length = output.dims.empty() ? -1 : output.dims.back();
  require_dims(output, dims.size() == 4 ? ir::Dims{batch, length} : ir::Dims{length}, kOp);
  const std::vector<double> data = ir::to_reals(ctx.inputs[0]);
  const std::vector<double> window = centred_window(ctx.inputs[1], size, kOp);
  const int64_t full = count > 0 ? ir::element_count({count - 1, frames.frame_step}) + size : 0;
  const int64_t skipped = center ? size / 2 : 0;
  const double scale = normalized ? std::sqrt(static_cast<double>(size)) : 1.0;
  std::vector<double> result(static_cast<size_t>(output.count()), 0.0);
  Line half(static_cast<size_t>(bins));
  for (int64_t n = 0; n < batch; ++n) {
    std::vector<double> sum(static_cast<size_t>(full), 0.0), weight(static_cast<size_t>(full), 0.0);
    for (int64_t frame = 0; frame < count; ++frame) {
      for (int64_t bin = 0; bin < bins; ++bin) {
        const auto at = static_cast<size_t>((n * bins + bin) * count + frame) * 2;
        half[static_cast<size_t>(bin)] = {data[at], data[at + 1]};
      }
      const Line line = inverse(whole_spectrum(half, static_cast<size_t>(size)));
      for (size_t k = 0; k < line.size(); ++k) {
        const size_t at = static_cast<size_t>(frame * frames.frame_step) + k;
        sum[at] += line[k].real() * scale * window[k];
        weight[at] += window[k] * window[k];
      }
    }
    // Where no window reaches nothing is known of the signal.
    for (int64_t i = 0; i < length && i + skipped < full; ++i) {
      const auto at = static_cast<size_t>(i + skipped);
      result[static_cast<size_t>(n * length + i)] = weight[at] > 0 ? sum[at] / weight[at] : sum[at];
    }
  }
  write(result, output, kOp);
}

}  // namespace terroir::ops::reference
