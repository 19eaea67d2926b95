// STFT and ISTFT in f32: transforms of frames; for the inverse, their sum in the signal.
// Layouts: plain. Threads: slices of the frames; ISTFT: then ranges of the signal, each of which adds the frames that
// reach it in order.
#include <cmath>
#include <span>

#include "ir/base/error.hpp"
#include "ops/defs/signals/fourier.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/nodes/fourier_lines.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

struct Frames {
  int64_t batch = 1, size = 1, step = 1, count = 0, window = 0;
  int64_t bins() const { return size / 2 + 1; }
};

int64_t integer_input(const NodeContext& context, size_t input) {
  return ir::to_integers(context.constants[input]->view).at(0);
}

/// The window in the middle of a frame.
void centre_window(const Frames& frames, const float* window, float* whole) {
  std::fill_n(whole, frames.size, 0.0f);
  std::copy_n(window, frames.window, whole + (frames.size - frames.window) / 2);
}

int64_t whole_lines(int64_t floats) { return (floats + 15) / 16 * 16; }

class StftExecutor final : public Executor {
 public:
  StftExecutor(const NodeContext& context, const Frames& frames)
      : frames_(frames),
        isa_(context.isa),
        lines_(fft_kernels(isa_), frames.size, fft_args(context, frames), frames.batch * frames.count) {}

  void run(const RunArgs& args) const noexcept override {
    auto* window = static_cast<float*>(args.scratch);
    centre_window(frames_, static_cast<const float*>(args.inputs[1]), window);
    lines_.run(args.arena, static_cast<const float*>(args.inputs[0]), static_cast<float*>(args.outputs[0]),
               window + whole_lines(frames_.size), window);
  }
  size_t table_bytes() const override { return lines_.table_bytes(); }
  size_t scratch_bytes(int threads) const override {
    return static_cast<size_t>(whole_lines(frames_.size) + lines_.work_floats(threads)) * sizeof(float);
  }
  std::string kernel_name() const override { return std::string("f32_stft__") + isa_name(isa_); }

 private:
  static FftArgs fft_args(const NodeContext& context, const Frames& frames) {
    FftArgs args;
    args.from = {frames.count, context.inputs[0].dims.back(), frames.step, 1};
    const bool transposed = context.node.attrs<ops::StftAttrs>().transpose_frames;
    args.to = {frames.count, frames.count * frames.bins() * 2, transposed ? 2 : frames.bins() * 2,
               transposed ? frames.count * 2 : 2};
    args.src_side = FftSide::real;
    args.dst_side = FftSide::half;
    args.valid = frames.size;
    return args;
  }

  Frames frames_;
  Isa isa_;
  FourierLines lines_;
};

class IstftExecutor final : public Executor {
 public:
  IstftExecutor(const NodeContext& context, const Frames& frames)
      : frames_(frames),
        isa_(context.isa),
        length_(context.outputs[0].dims.back()),
        skipped_(context.node.attrs<ops::IstftAttrs>().center ? frames.size / 2 : 0),
        lines_(fft_kernels(isa_), frames.size, fft_args(frames, context.node.attrs<ops::IstftAttrs>().normalized),
               frames.batch * frames.count) {}

  void run(const RunArgs& args) const noexcept override {
    auto* window = static_cast<float*>(args.scratch);
    float* values = window + whole_lines(frames_.size);
    centre_window(frames_, static_cast<const float*>(args.inputs[1]), window);
    lines_.run(args.arena, static_cast<const float*>(args.inputs[0]), values, values + value_floats());
    const int64_t ranges = ceil_div(length_, kRange);
    auto* dst = static_cast<float*>(args.outputs[0]);
    args.arena.parallel_for(frames_.batch * ranges, [&](int64_t task) {
      const int64_t n = task / ranges, begin = task % ranges * kRange;
      const FrameSum sum{values + n * frames_.count * frames_.size, window, frames_.count, frames_.size, frames_.step};
      fft_kernels(isa_).add_frames(sum, begin + skipped_, std::min(length_, begin + kRange) + skipped_,
                                   dst + n * length_ + begin);
    });
  }
  size_t table_bytes() const override { return lines_.table_bytes(); }
  size_t scratch_bytes(int threads) const override {
    return static_cast<size_t>(whole_lines(frames_.size) + value_floats() + lines_.work_floats(threads)) *
           sizeof(float);
  }
  std::string kernel_name() const override { return std::string("f32_istft__") + isa_name(isa_); }

 private:
  static constexpr int64_t kRange = 8192;

  int64_t value_floats() const { return whole_lines(frames_.batch * frames_.count * frames_.size); }

  static FftArgs fft_args(const Frames& frames, bool normalized) {
    FftArgs args;
    args.from = {frames.count, frames.bins() * frames.count * 2, 2, frames.count * 2};
    args.to = {frames.count, frames.count * frames.size, frames.size, 1};
    args.src_side = FftSide::half;
    args.dst_side = FftSide::real;
    args.valid = frames.bins();
    args.inverse = true;
    const auto size = static_cast<double>(frames.size);
    args.scale = static_cast<float>((normalized ? std::sqrt(size) : 1.0) / size);
    return args;
  }

  Frames frames_;
  Isa isa_;
  int64_t length_, skipped_;
  FourierLines lines_;
};

/// Nothing where the reference has to say what is wrong.
std::optional<Frames> frames_of(const NodeContext& context) {
  const bool inverse = context.node.is("ISTFT");
  const ir::Dims& dims = context.inputs[0].dims;
  Frames frames;
  frames.size = integer_input(context, 2);
  frames.step = integer_input(context, 3);
  frames.window = context.inputs[1].count();
  if (frames.size < 1 || frames.step < 1 || frames.window > frames.size) return std::nullopt;
  if (inverse) {
    frames.batch = dims.size() == 4 ? dims[0] : 1;
    frames.count = dims[dims.size() - 2];
  } else {
    frames.batch = dims.size() == 2 ? dims[0] : 1;
    frames.count = dims.back() < frames.size ? 0 : (dims.back() - frames.size) / frames.step + 1;
  }
  return frames;
}

Proposal propose(const NodeContext& context) {
  const TensorDesc& src = context.inputs[0];
  if (src.type != element::f32) return Reject{"only f32 is vectorised, not " + src.type.get_type_name()};
  if (!context.constants[2] || !context.constants[3]) return Reject{"the frames are known at run time only"};
  if (context.inputs.size() > 4 && !context.constants[4]) return Reject{"the length is known at run time only"};
  if (src.count() == 0 || context.outputs[0].count() == 0) return Reject{"no elements"};
  const auto frames = frames_of(context);
  if (!frames) return Reject{"frames that do not fit"};
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = src.layout;
  choice.inputs[1] = context.inputs[1].layout;
  choice.outputs = {context.outputs[0].layout};
  const auto numbers = static_cast<double>(frames->batch * frames->count * frames->size);
  choice.cost = compute_ns(3 * numbers * (std::log2(static_cast<double>(frames->size)) + 2), context.isa);
  return std::vector{choice};
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  const Frames frames = *frames_of(context);
  if (context.node.is("ISTFT")) return std::make_unique<IstftExecutor>(context, frames);
  return std::make_unique<StftExecutor>(context, frames);
}

constexpr Impl kStft[] = {{"stft", &propose, &create}};

}  // namespace

std::span<const Impl> stft_impls() { return kStft; }

}  // namespace terroir::cpu
