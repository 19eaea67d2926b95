#include "tests/terroir1/oracle.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace terroir::test {
namespace {

using Ints = std::vector<int64_t>;

double activated(const Convolution& problem, double x) {
  const std::string& f = problem.activation;
  const auto p = [&](size_t i) { return problem.params.at(i); };
  if (f == "Identity") return x;
  if (f == "Relu") return std::max(0.0, x);
  if (f == "LeakyRelu") return x >= 0 ? x : p(0) * x;
  if (f == "Clip") return std::min(std::max(x, p(0)), p(1));
  if (f == "HardSigmoid") return std::max(0.0, std::min(1.0, p(0) * x + p(1)));
  if (f == "Sigmoid") return 1 / (1 + std::exp(-x));
  if (f == "Tanh") return (std::exp(x) - std::exp(-x)) / (std::exp(x) + std::exp(-x));
  if (f == "Elu") return x >= 0 ? x : p(0) * (std::exp(x) - 1);
  if (f == "Selu") return p(1) * (x > 0 ? x : p(0) * std::exp(x) - p(0));
  if (f == "Celu") return std::max(0.0, x) + std::min(0.0, p(0) * (std::exp(x / p(0)) - 1));
  if (f == "Gelu") return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  if (f == "HardSwish") return x * std::max(0.0, std::min(1.0, p(0) * x + p(1)));
  if (f == "Linear") return p(0) * x + p(1);
  if (f == "ParametricSoftplus") return p(0) * std::log(1 + std::exp(p(1) * x));
  if (f == "ScaledTanh") return p(0) * std::tanh(p(1) * x);
  if (f == "Softplus") return std::log(1 + std::exp(x * p(0))) / p(0);
  if (f == "Softsign") return x / (1 + std::abs(x));
  if (f == "Swish") return x / (1 + std::exp(-p(0) * x));
  if (f == "ThresholdedRelu") return x > p(0) ? x : 0;
  throw std::invalid_argument(f);
}

/// Calls with every index of an array of these extents, the last axis fastest.
template <class Fn>
void for_each_index(const Ints& extents, Fn fn) {
  for (int64_t flat = 0; flat < count_of(extents); ++flat) {
    Ints index(extents.size());
    int64_t rest = flat;
    for (size_t i = extents.size(); i-- > 0; rest /= extents[i]) index[i] = rest % extents[i];
    fn(index, static_cast<size_t>(flat));
  }
}

/// The element's place; -1 outside.
int64_t place(const Ints& extents, const Ints& index) {
  int64_t at = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (index[i] < 0 || index[i] >= extents[i]) return -1;
    at = at * extents[i] + index[i];
  }
  return at;
}

struct Extents {
  Ints output, pad_begin;  // output without what output_padding of a forward convolution appends
};

/// "pad the input so that output_shape[i] = ceil(input_shape[i] / strides[i])"
Extents forward_extents(const Convolution& p, const Ints& in, const Ints& kernel) {
  Extents result;
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t reach = (kernel[i] - 1) * p.dilations[i] + 1;
    if (p.auto_pad.starts_with("SAME")) {
      const int64_t out = (in[i] + p.strides[i] - 1) / p.strides[i];
      const int64_t total = std::max<int64_t>(0, (out - 1) * p.strides[i] + reach - in[i]);
      result.output.push_back(out);
      result.pad_begin.push_back(p.auto_pad == "SAME_UPPER" ? total / 2 : (total + 1) / 2);
      continue;
    }
    const bool none = p.auto_pad == "VALID";
    const int64_t begin = none ? 0 : p.pads_begin[i], end = none ? 0 : p.pads_end[i];
    result.output.push_back((in[i] + begin + end - reach) / p.strides[i] + 1);
    result.pad_begin.push_back(begin);
  }
  return result;
}

/// The equations of ConvTranspose. Pads are never negative ("any value greater than or equal to 0").
Extents backward_extents(const Convolution& p, const Ints& in, const Ints& kernel) {
  Extents result;
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t full = p.strides[i] * (in[i] - 1) + p.output_padding[i] + (kernel[i] - 1) * p.dilations[i] + 1;
    if (!p.output_shape.empty()) {
      const int64_t total = std::max<int64_t>(0, full - p.output_shape[i]);
      result.output.push_back(p.output_shape[i]);
      result.pad_begin.push_back(p.auto_pad != "SAME_UPPER" ? total / 2 : total - total / 2);
    } else if (p.auto_pad.starts_with("SAME")) {
      // The published example: an odd element is cut from the end for SAME_UPPER, as the attribute's text has it.
      const int64_t out = in[i] * p.strides[i], total = std::max<int64_t>(0, full - out);
      result.output.push_back(out);
      result.pad_begin.push_back(p.auto_pad == "SAME_UPPER" ? total / 2 : (total + 1) / 2);
    } else {
      const bool none = p.auto_pad == "VALID";
      result.output.push_back(full - (none ? 0 : p.pads_begin[i] + p.pads_end[i]));
      result.pad_begin.push_back(none ? 0 : p.pads_begin[i]);
    }
  }
  return result;
}

}  // namespace

Array convolve(const Convolution& p, const Array& data, const Array& filter, const std::optional<Array>& bias) {
  const Ints in(data.dims.begin() + 2, data.dims.end()), kernel(filter.dims.begin() + 2, filter.dims.end());
  const Extents extents = p.backward ? backward_extents(p, in, kernel) : forward_extents(p, in, kernel);
  const int64_t in_of_group = data.dims[1] / p.group;
  const int64_t out_of_group = p.backward ? filter.dims[1] : filter.dims[0] / p.group;
  Array result;
  result.dims = {data.dims[0], p.group * out_of_group};
  for (size_t i = 0; i < in.size(); ++i)
    result.dims.push_back(extents.output[i] + (p.backward ? 0 : p.output_padding[i]));
  result.values.assign(static_cast<size_t>(count_of(result.dims)), 0);

  // Every product of an element of the data and one of the filter lands on one element of the result, or nowhere.
  for_each_index(data.dims, [&](const Ints& from, size_t from_at) {
    const int64_t group = from[1] / in_of_group;
    for_each_index(kernel, [&](const Ints& tap, size_t) {
      Ints to(from.size());
      to[0] = from[0];
      for (size_t i = 0; i < in.size(); ++i) {
        if (p.backward) {
          to[2 + i] = from[2 + i] * p.strides[i] + tap[i] * p.dilations[i] - extents.pad_begin[i];
        } else {
          // The output position o at which this tap sees the element: o * stride + tap * dilation - pad = position.
          const int64_t scaled = from[2 + i] + extents.pad_begin[i] - tap[i] * p.dilations[i];
          const bool between = scaled % p.strides[i] != 0 || scaled < 0 || scaled / p.strides[i] >= extents.output[i];
          to[2 + i] = between ? -1 : scaled / p.strides[i];
        }
      }
      for (int64_t o = 0; o < out_of_group; ++o) {
        to[1] = group * out_of_group + o;
        const int64_t to_at = place(result.dims, to);
        if (to_at < 0) continue;
        Ints weight = p.backward ? Ints{from[1], o} : Ints{to[1], from[1] % in_of_group};
        for (size_t i = 0; i < in.size(); ++i) weight.push_back(p.flipped ? kernel[i] - 1 - tap[i] : tap[i]);
        result.values[static_cast<size_t>(to_at)] +=
            data.values[from_at] * filter.values[static_cast<size_t>(place(filter.dims, weight))];
      }
    });
  });
  for_each_index(result.dims, [&](const Ints& index, size_t at) {
    double& value = result.values[at];
    value = activated(p, value + (bias ? bias->values[static_cast<size_t>(index[1])] : 0));
  });
  return result;
}

}  // namespace terroir::test
