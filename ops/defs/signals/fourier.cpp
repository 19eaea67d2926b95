#include "ops/defs/signals/fourier.hpp"

#include "ir/schema/infer_context.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops {
namespace {

using reference::FourierParams;
using reference::RealSide;

// Far beyond any signal; keeps products inside 64 bits.
constexpr int64_t kMost = int64_t{1} << 31;

/// The axes from the front. `rank` is that of the complex (or real) numbers.
std::vector<int64_t> checked_axes(const std::vector<int64_t>& axes, int64_t rank) {
  auto result = normalize_axes(axes, rank);
  require_unique(result);
  return result;
}

void check_sizes(const std::vector<int64_t>& sizes, size_t count) {
  if (sizes.size() != count)
    throw_error(ErrorCode::invalid_argument, "signal_size must have one element for each of ", count, " axes, got ",
                sizes.size());
  for (const int64_t size : sizes)
    if (size != -1 && (size < 1 || size > kMost))
      throw_error(ErrorCode::invalid_argument, "signal_size must be -1 or in [1, ", kMost, "], got ", size);
}

/// The signal size of an axis that has none given.
Dimension own_size(const Dimension& extent, bool half) {
  if (!half) return extent;
  const int64_t low = extent.get_min_length() > 0 ? 2 * (extent.get_min_length() - 1) : 0;
  return {low, extent.has_upper_bound() ? std::max(low, 2 * (extent.get_max_length() - 1)) : -1};
}

template <RealSide Real>
void infer_fourier(ir::InferContext& ctx) {
  for (int i = 1; i < ctx.input_count(); ++i) {
    require_integer_type(ctx, i, i == 1 ? "axes" : "signal_size");
    require_rank(ctx, i, i == 1 ? "axes" : "signal_size", 1, 1);
  }
  require_rank(ctx, 0, "data", Real == RealSide::input ? 1 : 2, INT64_MAX);
  PartialShape shape = ctx.shape(0);
  if (shape.rank().is_dynamic()) {
    ctx.set_output(0, ctx.type(0), shape);
    return;
  }
  if (Real != RealSide::input)
    ctx.require(shape[-1].compatible(2), "data must have pairs on its last axis, got ", shape);
  std::vector<Dimension> dims(shape.begin(), shape.end());
  if (Real != RealSide::input) dims.pop_back();
  const auto given = ctx.integers(1);
  const bool with_sizes = ctx.input_count() > 2;
  const auto sizes = with_sizes ? ctx.integers(2) : std::nullopt;
  if (!given) {
    if (with_sizes || Real != RealSide::none) std::fill(dims.begin(), dims.end(), Dimension::dynamic());
  } else {
    const auto axes = checked_axes(*given, static_cast<int64_t>(dims.size()));
    ctx.require(Real == RealSide::none || !axes.empty(), "axes must name at least one axis");
    if (sizes) check_sizes(*sizes, axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      Dimension& extent = dims[static_cast<size_t>(axes[i])];
      const bool last = i + 1 == axes.size();
      Dimension size = own_size(extent, last && Real == RealSide::output);
      if (sizes && (*sizes)[i] != -1) size = (*sizes)[i];
      if (with_sizes && !sizes) size = Dimension::dynamic();
      ctx.require(size != Dimension(0), "axis ", axes[i], " of data ", shape, " leaves no signal to transform");
      extent = size;
      if (last && Real == RealSide::input)
        extent = Dimension(size.get_min_length() / 2 + 1, size.has_upper_bound() ? size.get_max_length() / 2 + 1 : -1);
    }
  }
  if (Real != RealSide::output) dims.push_back(2);
  ctx.set_output(0, ctx.type(0), PartialShape(dims));
}

template <RealSide Real>
void reference_fourier(const ir::EvalContext& ctx, bool inverse) {
  FourierParams params;
  ir::Dims dims = ctx.inputs[0].dims;
  if (Real != RealSide::input && !dims.empty()) dims.pop_back();
  params.axes = checked_axes(ir::to_integers(ctx.inputs[1]), static_cast<int64_t>(dims.size()));
  params.inverse = inverse;
  params.real = Real;
  std::vector<int64_t> given(params.axes.size(), -1);
  if (ctx.inputs.size() > 2) given = ir::to_integers(ctx.inputs[2]);
  check_sizes(given, params.axes.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const bool half = Real == RealSide::output && i + 1 == given.size();
    const int64_t extent = dims[static_cast<size_t>(params.axes[i])];
    params.sizes.push_back(given[i] != -1 ? given[i] : half ? 2 * (extent - 1) : extent);
    if (params.sizes.back() < 1)
      throw_error(ErrorCode::invalid_argument, "axis ", params.axes[i], " of data ", ctx.inputs[0].dims,
                  " leaves no signal to transform");
  }
  reference::fourier(ctx, params);
}

template <RealSide Real, bool Inverse>
ir::OpSchema fourier_schema() {
  ir::OpSchema schema;
  schema.arity = {2, 3, 1};
  schema.infer = &infer_fourier<Real>;
  schema.reference = [](const ir::EvalContext& ctx) { reference_fourier<Real>(ctx, Inverse); };
  return schema;
}

/// frame_size and frame_step (inputs 2 and 3), where known.
std::optional<reference::FrameParams> known_frames(ir::InferContext& ctx) {
  require_rank(ctx, 1, "window", 1, 1);
  const auto size = known_integer(ctx, 2, "frame_size");
  const auto step = known_integer(ctx, 3, "frame_step");
  ctx.require(!size || (*size >= 1 && *size <= kMost), "frame_size must be in [1, ", kMost, "], got ",
              size.value_or(0));
  ctx.require(!step || (*step >= 1 && *step <= kMost), "frame_step must be in [1, ", kMost, "], got ",
              step.value_or(0));
  const auto window = known_length(ctx, 1);
  ctx.require(!size || !window || *window <= *size, "the window (input 1) has ", window.value_or(0),
              " values, more than the frame size ", size.value_or(0));
  if (!size || !step) return std::nullopt;
  return reference::FrameParams{*size, *step};
}

void infer_stft(ir::InferContext& ctx) {
  require_rank(ctx, 0, "signal", 1, 2);
  const element::Type type = merged_type(ctx, 0, 1, "signal", "window");
  const auto frames = known_frames(ctx);
  if (ctx.shape(0).rank().is_dynamic()) {
    ctx.set_output(0, type, PartialShape::dynamic());
    return;
  }
  const PartialShape& signal = ctx.shape(0);
  Dimension count, bins;
  if (frames) {
    const auto frames_in = [&](int64_t length) {
      return length < frames->frame_size ? 0 : (length - frames->frame_size) / frames->frame_step + 1;
    };
    const Dimension& length = signal[-1];
    ctx.require(!length.has_upper_bound() || length.get_max_length() >= frames->frame_size, "the signal ", signal,
                " is shorter than frame_size ", frames->frame_size);
    count = Dimension(frames_in(length.get_min_length()),
                      length.has_upper_bound() ? frames_in(length.get_max_length()) : -1);
    bins = frames->frame_size / 2 + 1;
  }
  std::vector<Dimension> dims(signal.begin(), signal.end() - 1);
  const bool transposed = ctx.attrs<StftAttrs>().transpose_frames;
  dims.insert(dims.end(), {transposed ? bins : count, transposed ? count : bins, Dimension(2)});
  ctx.set_output(0, type, PartialShape(dims));
}

void infer_istft(ir::InferContext& ctx) {
  const auto& attrs = ctx.attrs<IstftAttrs>();
  require_rank(ctx, 0, "data", 3, 4);
  const element::Type type = merged_type(ctx, 0, 1, "data", "window");
  const auto frames = known_frames(ctx);
  Dimension length;
  const PartialShape& data = ctx.shape(0);
  if (data.rank().is_static()) {
    ctx.require(data[-1].compatible(2), "data must have pairs on its last axis, got ", data);
    if (frames) {
      ctx.require(data[-3].compatible(frames->frame_size / 2 + 1), "data ", data, " must have ",
                  frames->frame_size / 2 + 1, " values of each frame of ", frames->frame_size);
      const Dimension& count = data[-2];
      const auto whole = [&](int64_t number) {
        return number == 0 ? 0
                           : times(number - 1, frames->frame_step).get_length() +
                                 (attrs.center ? frames->frame_size % 2 : frames->frame_size);
      };
      length = Dimension(whole(count.get_min_length()), count.has_upper_bound() ? whole(count.get_max_length()) : -1);
    }
  }
  if (ctx.input_count() > 4) {
    const auto wanted = known_integer(ctx, 4, "signal_length");
    ctx.require(!wanted || (*wanted >= 0 && *wanted <= kMost), "signal_length must be in [0, ", kMost, "], got ",
                wanted.value_or(0));
    length = wanted ? Dimension(*wanted) : Dimension::dynamic();
  }
  if (data.rank().is_dynamic()) {
    ctx.set_output(0, type, PartialShape::dynamic());
    return;
  }
  ctx.set_output(0, type, data.size() == 4 ? PartialShape{data[0], length} : PartialShape{length});
}

reference::FrameParams read_frames(const ir::EvalContext& ctx) {
  return {read_integer(ctx.inputs[2], "frame_size"), read_integer(ctx.inputs[3], "frame_step")};
}

}  // namespace

ir::OpSchema dft_7() { return fourier_schema<RealSide::none, false>(); }
ir::OpSchema idft_7() { return fourier_schema<RealSide::none, true>(); }
ir::OpSchema rdft_9() { return fourier_schema<RealSide::input, false>(); }
ir::OpSchema irdft_9() { return fourier_schema<RealSide::output, true>(); }

ir::OpSchema stft_15() {
  ir::OpSchema schema;
  schema.arity = {4, 4, 1};
  schema.make_attributes = &ir::make_attributes<StftAttrs>;
  schema.infer = &infer_stft;
  schema.reference = [](const ir::EvalContext& ctx) {
    reference::stft(ctx, read_frames(ctx), ctx.attrs<StftAttrs>().transpose_frames);
  };
  return schema;
}

ir::OpSchema istft_16() {
  ir::OpSchema schema;
  schema.arity = {4, 5, 1};
  schema.make_attributes = &ir::make_attributes<IstftAttrs>;
  schema.infer = &infer_istft;
  schema.reference = [](const ir::EvalContext& ctx) {
    const auto& attrs = ctx.attrs<IstftAttrs>();
    reference::istft(ctx, read_frames(ctx), attrs.center, attrs.normalized);
  };
  return schema;
}

}  // namespace terroir::ops
