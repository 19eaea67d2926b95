// Interpolate of images whose pixels hold few values side by side, or one: bytes in every mode, f32 in all but nearest.
// Rows of the input are blended into a buffer as wide as the input, and its pixels into a row of the output, so that
// nothing but the image itself passes through memory; a fused chain follows there, of f32. Pillow's modes of bytes
// round between both, columns first. Layouts: plain, resized along two neighbouring axes. Threads: rows of the output
// of every image.
#include <algorithm>
#include <cstring>
#include <span>

#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/image/image.hpp"
#include "plugins/cpu/kernels/interpolate/interpolate.hpp"
#include "plugins/cpu/kernels/post_ops/post_ops.hpp"
#include "plugins/cpu/nodes/interpolate_geometry.hpp"
#include "plugins/cpu/nodes/row_table.hpp"
#include "plugins/cpu/post_op_chain.hpp"

namespace terroir::cpu {
namespace {

constexpr int64_t kMaxBytePixel = 64, kMaxFloatPixel = 16;

int64_t to_lines(int64_t floats) { return (floats + 15) / 16 * 16; }

/// Taps of the rows, one list after the other, and of the elements of a row.
struct ImageTaps {
  int64_t images = 1, rows_in = 1, columns_in = 1, pixel = 1, rows = 1, columns = 1;
  std::vector<int64_t> row_first;
  std::vector<int32_t> row_index;
  std::vector<float> row_weight;
  RowTable row;
  std::vector<int64_t> picked;  // by column: where its pixel's only tap begins; of nearest only

  int64_t width_in() const { return columns_in * pixel; }
  int64_t width() const { return columns * pixel; }
};

ImageTaps taps_of(const ir::Dims& dims, size_t axis, const ops::ResampleTable& rows, const ops::ResampleTable& columns,
                  bool nearest, int64_t lanes) {
  ImageTaps t;
  for (size_t i = 0; i < axis; ++i) t.images *= dims[i];
  for (size_t i = axis + 2; i < dims.size(); ++i) t.pixel *= dims[i];
  t.rows_in = dims[axis], t.columns_in = dims[axis + 1];
  t.rows = rows.outputs(), t.columns = columns.outputs();
  t.row_first = rows.first;
  for (const ops::ResampleTap& tap : rows.taps) {
    t.row_index.push_back(static_cast<int32_t>(tap.index));
    t.row_weight.push_back(static_cast<float>(tap.weight));
  }
  if (nearest) {
    for (const ops::ResampleTap& tap : columns.taps) t.picked.push_back(tap.index * t.pixel);
    return t;
  }
  const auto taps_of_column = [&](int64_t column) {
    const auto at = static_cast<size_t>(column);
    return std::span(columns.taps)
        .subspan(static_cast<size_t>(columns.first[at]),
                 static_cast<size_t>(columns.first[at + 1] - columns.first[at]));
  };
  int64_t taps = 0;
  for (int64_t column = 0; column < t.columns; ++column) taps = std::max(taps, std::ssize(taps_of_column(column)));
  t.row = RowTable(t.width(), taps, lanes);
  for (int64_t column = 0; column < t.columns; ++column) {
    int64_t k = 0;
    for (const ops::ResampleTap& tap : taps_of_column(column)) {
      for (int64_t c = 0; c < t.pixel; ++c)
        t.row.set(k, column * t.pixel + c, tap.index * t.pixel + c, static_cast<float>(tap.weight));
      ++k;
    }
  }
  t.row.finish(to_lines(t.width_in()));  // rows of buffers
  return t;
}

class ImageExecutor : public Executor {
 public:
  ImageExecutor(const NodeContext& context, ImageTaps taps, const char* what)
      : t_(std::move(taps)),
        rows_(interpolate_kernels(context.isa)),
        bytes_(image_kernels(context.isa)),
        name_(concat(context.outputs[0].type, "_", what, "_image__", isa_name(context.isa))) {}

  size_t table_bytes() const override {
    return (t_.row_index.size() + t_.row_weight.size()) * 4 + t_.row.bytes() +
           (t_.row_first.size() + t_.picked.size()) * sizeof(int64_t);
  }
  std::string kernel_name() const override { return name_; }

 protected:
  /// body(image, row, count, buffer) for all `rows` of every image, `count` at once; the buffer has `floats` for one
  /// slice of the work.
  template <typename Body>
  void for_rows(const RunArgs& args, int64_t rows, float* buffers, int64_t floats, Body body) const noexcept {
    const int64_t units = t_.images * rows, slices = slice_count(units, args.arena.threads());
    args.arena.parallel_for(slices, [&](int64_t slice) {
      const int64_t first = units * slice / slices, last = units * (slice + 1) / slices;
      for (int64_t u = first; u < last;) {
        const int64_t row = u % rows, count = std::min({int64_t{kInterpolatedRows}, last - u, rows - row});
        body(u / rows, row, count, buffers + slice * floats);
        u += count;
      }
    });
  }
  static int64_t slice_count(int64_t units, int threads) {
    return std::min<int64_t>(units, 4 * static_cast<int64_t>(threads));
  }
  size_t buffer_bytes(int64_t rows, int threads, int64_t floats) const {
    return static_cast<size_t>(slice_count(t_.images * rows, threads) * floats) * sizeof(float);
  }

  void blend_row(const float* image, int64_t row, float* dst) const noexcept {
    const auto first = static_cast<size_t>(t_.row_first[static_cast<size_t>(row)]);
    rows_.weighted_line(image, t_.width_in(), t_.row_index.data() + first, t_.row_weight.data() + first, row_taps(row),
                        dst, t_.width_in());
  }
  void blend_row(const uint8_t* image, int64_t row, float* dst, int64_t width) const noexcept {
    const auto first = static_cast<size_t>(t_.row_first[static_cast<size_t>(row)]);
    bytes_.blend(image, width, t_.row_index.data() + first, t_.row_weight.data() + first, row_taps(row), dst, width);
  }
  /// Rows of `src` are line() apart.
  void blend_columns(const float* src, float* dst, int64_t rows) const noexcept {
    const float* from[kInterpolatedRows];
    for (int64_t r = 0; r < rows; ++r) from[r] = src + r * line();
    rows_.weighted_rows(from, t_.row.taps(), dst, rows, t_.width());
  }
  /// Of a row of the input in a buffer.
  int64_t line() const noexcept { return to_lines(t_.width_in()); }
  int64_t lines() const noexcept { return kInterpolatedRows * line(); }
  int64_t floats() const noexcept { return lines() + to_lines(kInterpolatedRows * t_.width()); }
  int64_t row_taps(int64_t row) const noexcept {
    return t_.row_first[static_cast<size_t>(row) + 1] - t_.row_first[static_cast<size_t>(row)];
  }

  const ImageTaps t_;
  const InterpolateKernels& rows_;
  const ImageKernels& bytes_;

 private:
  std::string name_;
};

class FloatImageExecutor final : public ImageExecutor {
 public:
  FloatImageExecutor(const NodeContext& context, ImageTaps taps)
      : ImageExecutor(context, std::move(taps), "interpolate"),
        chain_(context, 0, 1),
        run_chain_(post_op_kernels(context.isa).run),
        channels_(chain_.empty() ? 1 : context.outputs[0].dims[1]) {}

  void run(const RunArgs& args) const noexcept override {
    const auto* src = static_cast<const float*>(args.inputs[0]);
    auto* dst = static_cast<float*>(args.outputs[0]);
    PostOpChain::Bound ops;
    chain_.bind(args, ops);
    for_rows(args, t_.rows, static_cast<float*>(args.scratch), lines(),
             [&](int64_t image, int64_t row, int64_t count, float* buffer) {
               for (int64_t r = 0; r < count; ++r)
                 blend_row(src + image * t_.rows_in * t_.width_in(), row + r, buffer + r * line());
               const int64_t offset = (image * t_.rows + row) * t_.width(), n = count * t_.width();
               blend_columns(buffer, dst + offset, count);
               if (chain_.empty()) return;
               run_chain_({dst + offset, dst + offset, 1, n, n, n, offset, n, image % channels_, ChannelAxis::rows},
                          ops.data(), static_cast<int64_t>(chain_.size()));
             });
  }
  size_t scratch_bytes(int threads) const override { return buffer_bytes(t_.rows, threads, lines()); }

 private:
  PostOpChain chain_;
  decltype(PostOpKernels::run) run_chain_;
  int64_t channels_;  // that images are, one by one, where there is a chain
};

class ByteImageExecutor final : public ImageExecutor {
 public:
  ByteImageExecutor(const NodeContext& context, ImageTaps taps, bool truncate)
      : ImageExecutor(context, std::move(taps), truncate ? "truncated" : "rounded"), truncate_(truncate) {}

  void run(const RunArgs& args) const noexcept override {
    const auto* src = static_cast<const uint8_t*>(args.inputs[0]);
    auto* dst = static_cast<uint8_t*>(args.outputs[0]);
    for_rows(args, t_.rows, static_cast<float*>(args.scratch), floats(),
             [&](int64_t image, int64_t row, int64_t count, float* buffer) {
               float* blended = buffer + lines();
               for (int64_t r = 0; r < count; ++r)
                 blend_row(src + image * t_.rows_in * t_.width_in(), row + r, buffer + r * line(), t_.width_in());
               blend_columns(buffer, blended, count);
               (truncate_ ? bytes_.truncate : bytes_.round)(blended, dst + (image * t_.rows + row) * t_.width(),
                                                            count * t_.width());
             });
  }
  size_t scratch_bytes(int threads) const override { return buffer_bytes(t_.rows, threads, floats()); }

 private:
  bool truncate_;
};

class PillowExecutor final : public ImageExecutor {
 public:
  PillowExecutor(const NodeContext& context, ImageTaps taps) : ImageExecutor(context, std::move(taps), "pillow") {}

  void run(const RunArgs& args) const noexcept override {
    const auto* src = static_cast<const uint8_t*>(args.inputs[0]);
    auto* dst = static_cast<uint8_t*>(args.outputs[0]);
    auto* narrow = static_cast<uint8_t*>(args.scratch);  // the image with its columns resized
    auto* buffers = static_cast<float*>(args.scratch) + to_lines(narrow_bytes() / 4 + 1);
    for_rows(args, t_.rows_in, buffers, floats(), [&](int64_t image, int64_t row, int64_t count, float* buffer) {
      float* blended = buffer + lines();
      const int64_t at = image * t_.rows_in + row;
      for (int64_t r = 0; r < count; ++r)
        bytes_.widen(src + (at + r) * t_.width_in(), buffer + r * line(), t_.width_in());
      blend_columns(buffer, blended, count);
      bytes_.round(blended, narrow + at * t_.width(), count * t_.width());
    });
    for_rows(args, t_.rows, buffers, floats(), [&](int64_t image, int64_t row, int64_t count, float* buffer) {
      for (int64_t r = 0; r < count; ++r)
        blend_row(narrow + image * t_.rows_in * t_.width(), row + r, buffer + r * t_.width(), t_.width());
      bytes_.round(buffer, dst + (image * t_.rows + row) * t_.width(), count * t_.width());
    });
  }
  size_t scratch_bytes(int threads) const override {
    return static_cast<size_t>(to_lines(narrow_bytes() / 4 + 1)) * sizeof(float) +
           buffer_bytes(std::max(t_.rows_in, t_.rows), threads, floats());
  }

 private:
  int64_t narrow_bytes() const noexcept { return t_.images * t_.rows_in * t_.width(); }
};

class NearestBytesExecutor final : public ImageExecutor {
 public:
  NearestBytesExecutor(const NodeContext& context, ImageTaps taps)
      : ImageExecutor(context, std::move(taps), "nearest") {}

  void run(const RunArgs& args) const noexcept override {
    const auto* src = static_cast<const uint8_t*>(args.inputs[0]);
    auto* dst = static_cast<uint8_t*>(args.outputs[0]);
    for_rows(args, t_.rows, nullptr, 0, [&](int64_t image, int64_t first, int64_t count, float*) {
      for (int64_t row = first; row < first + count; ++row) {
        const int64_t row_in = image * t_.rows_in + t_.row_index[static_cast<size_t>(row)];
        const uint8_t* from = src + row_in * t_.width_in();
        uint8_t* to = dst + (image * t_.rows + row) * t_.width();
        const int64_t small = t_.pixel <= kWord ? t_.columns - kWord : 0;
        int64_t column = 0;
        // A word per pixel; what is behind the pixel its neighbours overwrite.
        for (; column < small && picked(column) + kWord <= t_.width_in(); ++column)
          std::memcpy(to + column * t_.pixel, from + picked(column), kWord);
        for (; column < t_.columns; ++column)
          std::memcpy(to + column * t_.pixel, from + picked(column), static_cast<size_t>(t_.pixel));
      }
    });
  }

 private:
  static constexpr int64_t kWord = 4;
  int64_t picked(int64_t column) const noexcept { return t_.picked[static_cast<size_t>(column)]; }
};

bool is_pillow(ops::ResampleMode mode) {
  return mode == ops::ResampleMode::bilinear_pillow || mode == ops::ResampleMode::bicubic_pillow;
}

bool has_one_tap_each(const ops::ResampleTable& table) {
  for (int64_t o = 0; o < table.outputs(); ++o)
    if (table.first[static_cast<size_t>(o)] != o) return false;
  return table.first.back() == table.outputs();
}

struct Plane {
  ops::InterpolateGeometry geometry;
  size_t row_axis, rows, columns;  // the axis of rows; which of the geometry's axes is which
};

std::variant<Plane, Reject> plane_of(const NodeContext& context) {
  auto geometry = geometry_of(context);
  if (auto* reject = std::get_if<Reject>(&geometry)) return *reject;
  Plane plane{std::get<ops::InterpolateGeometry>(std::move(geometry)), 0, 0, 1};
  const auto& axes = plane.geometry.axes;
  if (axes.size() != 2) return Reject{"resizes other than two axes"};
  if (axes[0].axis > axes[1].axis) std::swap(plane.rows, plane.columns);
  plane.row_axis = axes[plane.rows].axis;
  if (axes[plane.columns].axis != plane.row_axis + 1) return Reject{"the resized axes are no neighbours"};
  return plane;
}

ImageTaps taps_of(const NodeContext& context, const Plane& plane) {
  return taps_of(context.inputs[0].dims, plane.row_axis, plane.geometry.table(plane.rows),
                 plane.geometry.table(plane.columns), plane.geometry.rule.mode == ops::ResampleMode::nearest,
                 interpolate_kernels(context.isa).lanes);
}

Proposal propose(const NodeContext& context) {
  const TensorDesc &src = context.inputs[0], &dst = context.outputs[0];
  const bool bytes = dst.type == element::u8;
  if (!bytes && dst.type != element::f32) return Reject{"neither u8 nor f32"};
  if (src.count() == 0 || dst.count() == 0) return Reject{"there are no elements"};
  const auto known = plane_of(context);
  if (const auto* reject = std::get_if<Reject>(&known)) return *reject;
  const Plane& plane = std::get<Plane>(known);
  if (is_fused(context.node) && (plane.row_axis != 2 || dst.rank() != 4)) return Reject{"a chain, and other axes"};
  int64_t pixel = 1;
  for (size_t i = plane.row_axis + 2; i < dst.dims.size(); ++i) pixel *= dst.dims[i];
  const size_t column_axis = plane.row_axis + 1;
  if (std::max(src.dims[column_axis], dst.dims[column_axis]) > INT32_MAX / pixel)
    return Reject{"rows of more elements than tables of 31 bits have"};
  if (pixel > (bytes ? kMaxBytePixel : kMaxFloatPixel)) return Reject{"too many values side by side"};
  if (plane.geometry.rule.mode == ops::ResampleMode::nearest) {
    if (!bytes) return Reject{"nearest of f32"};
    for (const size_t i : {plane.rows, plane.columns})
      if (!has_one_tap_each(plane.geometry.table(i))) return Reject{"padding"};
  }
  if (bytes && is_pillow(plane.geometry.rule.mode) && plane.rows != 0)
    return Reject{"columns before rows, with bytes in between"};
  LayoutChoice choice;
  choice.inputs.resize(context.inputs.size());
  choice.inputs[0] = Layout::plain(src.rank());
  choice.outputs = {Layout::plain(dst.rank())};
  add_chain_inputs(context, choice.outputs[0], choice);
  choice.cost = stream_ns(static_cast<double>(src.bytes())) + 3 * stream_ns(static_cast<double>(dst.bytes()));
  return std::vector{choice};
}

std::unique_ptr<const Executor> create(const NodeContext& context, const LayoutChoice&) {
  const auto known = plane_of(context);
  const Plane& plane = std::get<Plane>(known);
  ImageTaps taps = taps_of(context, plane);
  const ops::ResampleMode mode = plane.geometry.rule.mode;
  if (context.outputs[0].type == element::f32) return std::make_unique<FloatImageExecutor>(context, std::move(taps));
  if (mode == ops::ResampleMode::nearest) return std::make_unique<NearestBytesExecutor>(context, std::move(taps));
  if (is_pillow(mode)) return std::make_unique<PillowExecutor>(context, std::move(taps));
  const bool rounds = mode == ops::ResampleMode::linear || mode == ops::ResampleMode::area;
  return std::make_unique<ByteImageExecutor>(context, std::move(taps), !rounds);
}

constexpr Impl kInterpolateImage[] = {{"interpolate_image", &propose, &create}};

}  // namespace

std::span<const Impl> interpolate_image_impls() { return kInterpolateImage; }

}  // namespace terroir::cpu
