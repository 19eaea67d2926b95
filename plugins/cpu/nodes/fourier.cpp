// DFT, IDFT, RDFT and IRDFT in f32, axis by axis.
// Layouts: plain. A real side is the first axis of RDFT to be done, on the full signal, and the last of IRDFT. An axis
// whose extent stays is transformed in place, in the result where that has the extents already. Where only the run
// knows the axes, each of them has an executor of its own. Threads: slices of the lines; long ones are matrices, whose
// columns and rows are lines, real ones as half as many complex numbers.
#include <cmath>
#include <span>
#include <variant>

#include "ir/base/error.hpp"
#include "ops/shape/inputs.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/nodes/fourier_halves.hpp"
#include "plugins/cpu/nodes/fourier_lines.hpp"
#include "plugins/cpu/nodes/indices.hpp"

namespace terroir::cpu {
namespace {

/// Where a pass reads or writes.
enum class Place { src, first_scratch, second_scratch, dst };

struct AxisPass {
  std::variant<FourierLines, FourierMatrix, FourierHalves> how;
  Place from, to;
};

struct Axis {
  size_t axis;
  int64_t size;
};

bool has_real_input(const ir::Node& node) { return node.is("RDFT"); }
bool has_real_output(const ir::Node& node) { return node.is("IRDFT"); }

/// Extents of the numbers, without the axis of pairs.
ir::Dims numbers_of(const TensorDesc& desc, bool real) {
  ir::Dims dims = desc.dims;
  if (!real) dims.pop_back();
  return dims;
}

std::vector<Axis> axes_of(const NodeContext& context) {
  const ir::Dims dims = numbers_of(context.inputs[0], has_real_input(context.node));
  const std::vector<int64_t> axes = ir::to_integers(context.constants[1]->view);
  std::vector<int64_t> sizes(axes.size(), -1);
  if (context.inputs.size() > 2) sizes = ir::to_integers(context.constants[2]->view);
  std::vector<Axis> result;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(axes[i] < 0 ? axes[i] + static_cast<int64_t>(dims.size()) : axes[i]);
    const bool half = has_real_output(context.node) && i + 1 == axes.size();
    result.push_back({axis, sizes[i] != -1 ? sizes[i] : half ? 2 * (dims[axis] - 1) : dims[axis]});
  }
  return result;
}

class FourierExecutor final : public Executor {
 public:
  FourierExecutor(const NodeContext& context, std::vector<Axis> axes) : isa_(context.isa) {
    const bool real_in = has_real_input(context.node), real_out = has_real_output(context.node);
    dims_ = numbers_of(context.inputs[0], real_in);
    final_ = numbers_of(context.outputs[0], real_out);
    real_output_ = real_out;
    inverse_ = context.node.is("IDFT") || real_out;
    if (real_in) std::swap(axes.front(), axes.back());
    for (size_t i = 0; i < axes.size(); ++i) {
      const bool first = i == 0, last = i + 1 == axes.size();
      add_pass(axes[i],
               real_in && first   ? FftSide::real
               : real_out && last ? FftSide::half
                                  : FftSide::complex,
               real_in && first   ? FftSide::half
               : real_out && last ? FftSide::real
                                  : FftSide::complex);
    }
  }

  void run(const RunArgs& args) const noexcept override {
    auto* scratch = static_cast<float*>(args.scratch);
    float* places[] = {nullptr, scratch, scratch + scratch_floats_[0], static_cast<float*>(args.outputs[0])};
    float* work = scratch + scratch_floats_[0] + scratch_floats_[1];
    for (const AxisPass& pass : passes_) {
      const float* src =
          pass.from == Place::src ? static_cast<const float*>(args.inputs[0]) : places[static_cast<size_t>(pass.from)];
      std::visit([&](const auto& how) { how.run(args.arena, src, places[static_cast<size_t>(pass.to)], work); },
                 pass.how);
    }
  }

  size_t table_bytes() const override {
    size_t bytes = 0;
    for (const AxisPass& pass : passes_)
      bytes += std::visit([](const auto& how) { return how.table_bytes(); }, pass.how);
    return bytes;
  }
  size_t scratch_bytes(int threads) const override {
    int64_t work = 0;
    for (const AxisPass& pass : passes_)
      work = std::max(work, std::visit([&](const auto& how) { return how.work_floats(threads); }, pass.how));
    return static_cast<size_t>(scratch_floats_[0] + scratch_floats_[1] + work) * sizeof(float);
  }
  std::string kernel_name() const override { return std::string("f32_fft__") + isa_name(isa_); }

 private:
  void add_pass(const Axis& axis, FftSide src_side, FftSide dst_side) {
    int64_t outer = 1, inner = 1;
    for (size_t i = 0; i < dims_.size(); ++i)
      if (i != axis.axis) (i < axis.axis ? outer : inner) *= dims_[i];
    const int64_t extent = dims_[axis.axis], bins = axis.size / 2 + 1;
    const int64_t result = dst_side == FftSide::half ? bins : axis.size;
    const auto lines = [&](FftSide side, int64_t numbers) {
      const int64_t unit = side == FftSide::real ? 1 : 2;
      return FftLines{inner, numbers * inner * unit, unit, inner * unit};
    };
    FftArgs args;
    args.from = lines(src_side, extent);
    args.to = lines(dst_side, result);
    args.src_side = src_side;
    args.dst_side = dst_side;
    args.valid = std::min(extent, src_side == FftSide::half ? bins : axis.size);
    args.inverse = inverse_;
    if (inverse_) args.scale = static_cast<float>(1.0 / static_cast<double>(axis.size));

    const Place from = passes_.empty() ? Place::src : passes_.back().to;
    dims_[axis.axis] = result;
    const FftKernels& kernels = fft_kernels(isa_);
    const bool is_whole = src_side == FftSide::complex && dst_side == FftSide::complex && extent == axis.size;
    const bool is_long = is_whole && inner == 1 && axis.size >= kLongLine;
    const FftMatrix matrix = is_long ? fft_matrix(axis.size, kernels.lanes) : FftMatrix{};
    if (src_side != dst_side && inner == 1 && add_long_real_passes(args, extent, axis.size, from, outer)) return;
    const bool in_place = from != Place::src && is_whole;
    const Place to = in_place ? from : next_place(from, dst_side);
    if (matrix.rows != 0)
      passes_.push_back({FourierMatrix(kernels, matrix, args, outer), from, to});
    else
      passes_.push_back({FourierLines(kernels, axis.size, args, outer * inner), from, to});
  }

  /// Long lines with a real side, whole ones of even length; false for others.
  bool add_long_real_passes(FftArgs args, int64_t extent, int64_t numbers, Place from, int64_t lines) {
    const bool split = args.src_side == FftSide::real;
    const bool is_whole = numbers % 2 == 0 && (split ? extent == numbers : extent >= numbers / 2 + 1);
    if (!is_whole || numbers / 2 < kLongLine) return false;
    const FftMatrix matrix = fft_matrix(numbers / 2, fft_kernels(isa_).lanes);
    if (matrix.rows == 0) return false;
    using Way = FourierHalves::Way;
    const int64_t stride = split ? numbers + 2 : 2 * extent;
    FourierHalves halves(split ? Way::split : Way::join, numbers, lines, stride, args.scale);
    args.src_side = args.dst_side = FftSide::complex;
    args.scale = 1.0f;
    FourierMatrix pairs(fft_kernels(isa_), matrix, args, lines);
    const Place between = other_scratch(from);
    if (split) {
      passes_.push_back({std::move(pairs), from, between});
      passes_.push_back({std::move(halves), between, next_place(between, FftSide::half)});
    } else {
      passes_.push_back({std::move(halves), from, between});
      passes_.push_back({std::move(pairs), between, next_place(between, FftSide::real)});
    }
    return true;
  }

  /// Where what has dims_ by now is put: into the result when it is of its kind.
  Place next_place(Place from, FftSide side) {
    const bool fits = dims_ == final_ && (side == FftSide::real || !real_output_);
    return fits ? Place::dst : other_scratch(from);
  }

  Place other_scratch(Place used) {
    const size_t index = used == Place::first_scratch ? 1 : 0;
    scratch_floats_[index] = std::max(scratch_floats_[index], (2 * ir::element_count(dims_) + 15) / 16 * 16);
    return index == 0 ? Place::first_scratch : Place::second_scratch;
  }

  // Several lines as long leave the second cache when they are transformed side by side. How many there are does not
  // count: a line alone would get other bits than one of many.
  static constexpr int64_t kLongLine = 4096;

  Isa isa_;
  ir::Dims dims_, final_;  // of the numbers, as far as the passes have come, and at the end
  bool inverse_ = false, real_output_ = false;
  std::vector<AxisPass> passes_;
  int64_t scratch_floats_[2] = {0, 0};
};

/// Axes that only the run knows, of transforms that leave the extents alone.
class LateFourierExecutor final : public Executor {
 public:
  explicit LateFourierExecutor(const NodeContext& context)
      : axes_type_(context.inputs[1].type), axes_count_(context.inputs[1].count()) {
    const ir::Dims dims = numbers_of(context.inputs[0], false);
    for (size_t axis = 0; axis < dims.size(); ++axis)
      by_axis_.push_back(std::make_unique<FourierExecutor>(context, std::vector{Axis{axis, dims[axis]}}));
  }

  void run(const RunArgs& args) const override {
    const auto rank = static_cast<int64_t>(by_axis_.size());
    with_indices(axes_type_, args.inputs[1], [&](const auto* axes) {
      for (int64_t i = 0; i < axes_count_; ++i) {
        const int64_t axis = ops::normalize_axis(axes[i], rank, "axes");
        const auto is_same = [&](int64_t other) { return ops::normalize_axis(other, rank) == axis; };
        if (std::any_of(axes, axes + i, is_same))
          ops::require_unique(ops::normalize_axes({axes, axes + axes_count_}, rank));
      }
      const void* src[] = {args.inputs[0]};
      for (int64_t i = 0; i < axes_count_; ++i, src[0] = args.outputs[0])
        by_axis_[static_cast<size_t>(ops::normalize_axis(axes[i], rank))]->run(
            {src, args.outputs, args.scratch, args.slots, args.arena});
    });
  }
  size_t table_bytes() const override {
    size_t bytes = 0;
    for (const auto& executor : by_axis_) bytes += executor->table_bytes();
    return bytes;
  }
  size_t scratch_bytes(int threads) const override {
    size_t bytes = 0;
    for (const auto& executor : by_axis_) bytes = std::max(bytes, executor->scratch_bytes(threads));
    return bytes;
  }
  std::string kernel_name() const override { return by_axis_.front()->kernel_name(); }

 private:
  element::Type axes_type_;
  int64_t axes_count_;
  std::vector<std::unique_ptr<const FourierExecutor>> by_axis_;
};

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (src.type != element::f32) return Reject{"only f32 is vectorised, not " + src.type.get_type_name()};
  if (src.count() == 0 || context.outputs[0].count() == 0) return Reject{"no elements"};
  const bool late_axes = !context.constants[1];
  if (context.inputs.size() > 2 && (late_axes || !context.constants[2]))
    return Reject{"axes or signal sizes are known at run time only"};
  if (late_axes && !is_index_type(context.inputs[1].type)) return no_index_type();
  if (context.inputs[1].count() == 0) return Reject{"no axes to transform"};
  std::vector<Axis> axes;
  if (!late_axes) axes = axes_of(context);
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = src.layout;
  if (late_axes) choice.inputs[1] = context.inputs[1].layout;
  choice.outputs = {context.outputs[0].layout};
  double levels = 0;
  for (const Axis& axis : axes) levels += std::log2(static_cast<double>(axis.size)) + 1;
  choice.cost = compute_ns(5 * levels * static_cast<double>(context.outputs[0].count()), context.isa);
  return std::vector{choice};
}

constexpr Impl kFourier[] = {
    {"fourier", &propose, [](const NodeContext& context, const LayoutChoice&) -> std::unique_ptr<const Executor> {
       if (!context.constants[1]) return std::make_unique<LateFourierExecutor>(context);
       return std::make_unique<FourierExecutor>(context, axes_of(context));
     }}};

}  // namespace

std::span<const Impl> fourier_impls() { return kFourier; }

}  // namespace terroir::cpu
