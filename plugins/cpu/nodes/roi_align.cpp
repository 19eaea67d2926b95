// ROIAlign, ROIAlignRotated, ROIPooling and ExperimentalDetectronROIFeatureExtractor in f32.
// How: the points of each cell are placed as the reference places them; their weighted neighbours (or whole elements)
//   are summed or compared for many channels at once, so the feature maps are read with the channels of a position
//   adjacent. Plain results gather in the first cache, as many channels of all cells as fit, and are transposed there.
// Layouts: maps channels-last; results channels-last or plain. Threads: slices of the regions.
// Edge cases: an image beyond the batch is an Exception, as in the reference.
#include <algorithm>
#include <cstring>
#include <span>

#include "ops/defs/detection/detectron.hpp"
#include "ops/defs/detection/roi_pooling.hpp"
#include "ops/reference/detection/roi_geometry.hpp"
#include "plugins/cpu/impl.hpp"
#include "plugins/cpu/kernels/reorder/reorder.hpp"
#include "plugins/cpu/kernels/sample/sample.hpp"
#include "plugins/cpu/nodes/region_taps.hpp"
#include "plugins/cpu/rounding.hpp"

namespace terroir::cpu {
namespace {

using ops::reference::AlignedGrid;
using ops::reference::AxisSample;
using ops::reference::BilinearSample;
using ops::reference::FeatureMap;
using ops::reference::RoiAlignMode;
using ops::reference::RoiPoint;

/// The rows, or the columns, of a map that the cells of an axis read, each with the sum of its weights in all samples
/// of a cell: neighbouring samples share most of theirs.
class AxisWeights {
 public:
  static constexpr int64_t kMost = 64;  // samples
  struct Line {
    int64_t offset;
    double weight;
  };

  /// `sample(cell, i)`: number i of `samples` of a cell; offsets are times `step`. At most kMost samples in all.
  template <class Sample>
  AxisWeights(int64_t cells, int64_t samples, int64_t step, const Sample& sample) {
    size_t count = 0;
    for (int64_t cell = 0; cell < cells; ++cell) {
      const size_t begin = count;
      const auto add = [&](int64_t offset, double weight) {
        // Samples go one way, so a line that is known is one of the last two.
        for (size_t i = count; i > begin && i + 2 > count; --i)
          if (lines_[i - 1].offset == offset) {
            lines_[i - 1].weight += weight;
            return;
          }
        lines_[count++] = {offset, weight};
      };
      for (int64_t i = 0; i < samples; ++i)
        if (const AxisSample at = sample(cell, i); at.inside) {
          add(at.first * step, 1 - at.part);
          add(at.second * step, at.part);
        }
      ends_[cell] = static_cast<uint8_t>(count);
    }
  }
  const Line* begin(int64_t cell) const { return lines_ + (cell > 0 ? ends_[cell - 1] : 0); }
  const Line* end(int64_t cell) const { return lines_ + ends_[cell]; }
  /// Of `cells`, all of them.
  int64_t count(int64_t cells) const { return cells > 0 ? ends_[cells - 1] : 0; }

 private:
  Line lines_[2 * kMost];
  uint8_t ends_[kMost];
};

/// What the regions of an op have in common: [rows][columns] cells of so many channels.
class RegionPooling {
 public:
  RegionPooling(const NodeContext& context, CellOf cell)
      : cell_(cell),
        channels_(context.outputs[0].dims[1]),
        rows_(context.outputs[0].dims[2]),
        columns_(context.outputs[0].dims[3]) {}

  CellOf cell() const { return cell_; }
  int64_t cells() const { return rows_ * columns_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  int64_t channels() const { return channels_; }

  /// Gives the taps of all cells to `sink`. `place` maps points of the region to the image.
  template <class Place, class Sink>
  void pool(const AlignedGrid<float>& grid, const Place& place, Sink& sink) const {
    pool_cells(grid, sink, [&](int64_t y, int64_t x, const auto& visit) {
      for (int64_t i = 0; i < grid.down(); ++i) grid.sample_row(y, x, i, place, visit);
    });
  }

  /// Of a region whose sides are those of the image.
  template <class Sink>
  void pool(const AlignedGrid<float>& grid, Sink& sink) const {
    constexpr int64_t kMost = AxisWeights::kMost;
    const int64_t down = rows_ * grid.down(), across = columns_ * grid.across();
    if (std::max({rows_, columns_, down, across}) > kMost) {
      return pool(
          grid, [](RoiPoint<float> p) { return p; }, sink);
    }
    if (cell_ == CellOf::most)
      most_of_lines(grid, sink);
    else
      sum_of_lines(grid, sink);
  }

 private:
  /// Each row and each column of samples is placed once.
  template <class Sink>
  void most_of_lines(const AlignedGrid<float>& grid, Sink& sink) const {
    AxisSample lines[2 * AxisWeights::kMost], *const columns = lines + AxisWeights::kMost;
    for (int64_t i = 0; i < rows_ * grid.down(); ++i) lines[i] = grid.row(i / grid.down(), i % grid.down());
    for (int64_t j = 0; j < columns_ * grid.across(); ++j)
      columns[j] = grid.column(j / grid.across(), j % grid.across());
    pool_cells(grid, sink, [&](int64_t y, int64_t x, const auto& visit) {
      for (const AxisSample* row = lines + y * grid.down(); row < lines + (y + 1) * grid.down(); ++row)
        for (const AxisSample* at = columns + x * grid.across(); at < columns + (x + 1) * grid.across(); ++at) {
          if (!row->inside || !at->inside) {
            visit(nullptr);
            continue;
          }
          const BilinearSample sample = joined(*row, *at);
          visit(&sample);
        }
    });
  }

  template <class Sink>
  void sum_of_lines(const AlignedGrid<float>& grid, Sink& sink) const {
    // Weights are products of those of a row and of a column.
    const AxisWeights rows(rows_, grid.down(), channels_, [&](int64_t cell, int64_t i) { return grid.row(cell, i); });
    const AxisWeights columns(columns_, grid.across(), channels_,
                              [&](int64_t cell, int64_t i) { return grid.column(cell, i); });
    if (!sink.takes(rows.count(rows_) * columns.count(columns_))) return;
    const double scale = 1 / grid.samples();
    for (int64_t y = 0; y < rows_; ++y)
      for (int64_t x = 0; x < columns_; ++x) {
        for (const AxisWeights::Line* row = rows.begin(y); row < rows.end(y); ++row) {
          const double weight = row->weight * scale;
          for (const AxisWeights::Line* column = columns.begin(x); column < columns.end(x); ++column)
            sink.add(row->offset + column->offset, weight * column->weight);
        }
        sink.end_cell();
      }
  }

  /// samples(y, x, visit): those of a cell, as AlignedGrid::sample_row gives them.
  template <class Sink, class Samples_>
  void pool_cells(const AlignedGrid<float>& grid, Sink& sink, const Samples_& samples) const {
    if (!sink.takes(4 * cells() * grid.down() * grid.across())) return;
    const double scale = cell_ == CellOf::most ? 1.0 : 1.0 / grid.samples();
    for (int64_t y = 0; y < rows_; ++y)
      for (int64_t x = 0; x < columns_; ++x) {
        samples(y, x, [&](const BilinearSample* sample) {
          if (sample) add_sample(*sample, scale, channels_, sink);
        });
        sink.end_cell();
      }
  }

  CellOf cell_;
  int64_t channels_, rows_, columns_;
};

/// Regions in slices; `Pool` knows where they are: pool(args, region, sink), false for a region of zeros. check() may
/// leave shared_floats() for it at the beginning of scratch.
template <class Pool>
class RegionExecutor final : public Executor {
 public:
  RegionExecutor(const NodeContext& context, const char* name, Pool pool)
      : pool_(std::move(pool)),
        kernels_(sample_kernels(context.isa)),
        reorder_(reorder_kernels(context.isa)),
        regions_(context.outputs[0].dims[0]),
        plain_(!context.outputs[0].layout.is_channels_last()),
        name_(name + ("_" + context.outputs[0].layout.name()) + "__" + isa_name(context.isa)) {}

  void run(const RunArgs& args) const override {
    pool_.check(args);
    const int64_t slices = slice_count(args.arena.threads());
    auto* dst = static_cast<float*>(args.outputs[0]);
    args.arena.parallel_for_slots(slices, [&](int64_t slice, int64_t slot) {
      auto* const scratch = args.slots.of<float>(slot);
      for (int64_t r = slice * regions_ / slices; r < (slice + 1) * regions_ / slices; ++r) {
        float* out = dst + r * region_floats();
        if (plain_)
          pool_plain(args, r, out, scratch);
        else
          pool_channels_last(args, r, out);
      }
    });
    pool_.finish(args);
  }
  size_t scratch_bytes(int /*threads*/) const override {
    return static_cast<size_t>(pool_.shared_floats()) * sizeof(float);
  }
  SlotNeed slot_need(int threads) const override {
    return {static_cast<size_t>(region_scratch()) * sizeof(float), static_cast<size_t>(threads)};
  }
  std::string kernel_name() const override { return name_; }

 private:
  // More slices than threads, since regions differ in their samples.
  int64_t slice_count(int threads) const { return std::min<int64_t>(regions_, 4 * static_cast<int64_t>(threads)); }
  int64_t channels() const { return pool_.pooling.channels(); }
  int64_t cells() const { return pool_.pooling.cells(); }
  int64_t region_floats() const { return cells() * channels(); }
  // In floats, whole lines. A region as it is pooled, or its taps and twice the channels that are transposed at once:
  // as they are pooled, and as they are stored.
  int64_t region_scratch() const {
    if (!plain_) return 0;
    const int64_t tiles = kept() ? 2 * cells() * channels_at_once() : 0;
    return table_floats() + round_up(std::max(tiles, region_floats()), 16);
  }
  int64_t table_floats() const { return kept() ? TapTable::floats(cells()) : 0; }
  /// Whether taps can be kept; regions that have too many are computed cell by cell.
  bool kept() const { return pool_.pooling.cell() != CellOf::most; }
  /// A third of the first cache for 49 cells; whole lines of the result, whatever the number of cells.
  int64_t channels_at_once() const {
    constexpr int64_t kFloats = 4096, kLine = 16;
    return std::min(channels(), std::clamp<int64_t>(kFloats / cells() / kLine, 1, 4) * kLine);
  }

  bool pool_channels_last(const RunArgs& args, int64_t region, float* out) const {
    CellByCell sink(kernels_, pool_.pooling.cell(), channels(), out);
    if (pool_.pool(args, region, sink)) return true;
    std::fill_n(out, region_floats(), 0.0f);
    return false;
  }

  void pool_plain(const RunArgs& args, int64_t region, float* out, float* scratch) const {
    float* tile = scratch + table_floats();
    if (kept()) {
      TapTable table(scratch);
      if (!pool_.pool(args, region, table)) {
        std::fill_n(out, region_floats(), 0.0f);
        return;
      }
      if (!table.full()) return pool_kept(table, out, tile);
    }
    pool_channels_last(args, region, tile);
    reorder_.transpose_2d(tile, channels(), out, cells(), cells(), channels(), cells());
  }

  /// A few channels of all cells at a time. They are written to memory in one go: pieces that cross its lines would
  /// read each of them first, to write a part.
  void pool_kept(const TapTable& table, float* out, float* tile) const {
    const int64_t step = channels_at_once();
    const auto pool = pool_.pooling.cell() == CellOf::sum ? kernels_.sum_cells : kernels_.largest_cells;
    float* turned = tile + cells() * step;
    for (int64_t c = 0; c < channels(); c += step) {
      const int64_t n = std::min(step, channels() - c);
      pool(table.taps(c), tile, n);
      reorder_.transpose_2d(tile, n, turned, cells(), cells(), n, cells());
      std::memcpy(out + c * cells(), turned, static_cast<size_t>(n * cells()) * sizeof(float));
    }
  }

  Pool pool_;
  const SampleKernels& kernels_;
  const ReorderKernels& reorder_;
  int64_t regions_;
  bool plain_;
  std::string name_;
};

/// ROIAlign and ROIAlignRotated.
struct AlignedRegions {
  RegionPooling pooling;
  FeatureMap map;
  ops::reference::RoiAlignParameters parameters;
  bool rotated, clockwise, wide_images;
  int64_t regions;

  int64_t image_of(const RunArgs& args, int64_t r) const {
    return wide_images ? static_cast<const int64_t*>(args.inputs[2])[r]
                       : static_cast<const int32_t*>(args.inputs[2])[r];
  }
  void check(const RunArgs& args) const {
    for (int64_t r = 0; r < regions; ++r)
      ops::reference::check_image(image_of(args, r), map.images, rotated ? "ROIAlignRotated" : "ROIAlign");
  }
  template <class Sink>
  bool pool(const RunArgs& args, int64_t r, Sink& sink) const {
    const int64_t image = image_of(args, r);
    if (image < 0) return false;
    sink.begin(static_cast<const float*>(args.inputs[0]) + image * map.plane() * map.channels);
    const auto* box = static_cast<const float*>(args.inputs[1]) + r * (rotated ? 5 : 4);
    const int64_t rows = pooling.rows(), columns = pooling.columns();
    if (rotated) {
      const ops::reference::RotatedPlace<float> place(parameters, clockwise, {box[0], box[1], box[2], box[3], box[4]});
      pooling.pool(place.grid(map, parameters, rows, columns), place, sink);
    } else {
      const auto grid =
          ops::reference::roi_align_grid<float>(map, parameters, box[0], box[1], box[2], box[3], rows, columns);
      pooling.pool(grid, sink);
    }
    return true;
  }
  void finish(const RunArgs&) const {}
  static int64_t shared_floats() { return 0; }
};

/// ROIPooling: the maximum of the elements of a cell, or one interpolated point.
struct PooledRegions {
  RegionPooling pooling;
  FeatureMap map;
  float scale;
  int64_t regions;

  static const float* row_of(const RunArgs& args, int64_t r) {
    return static_cast<const float*>(args.inputs[1]) + r * 5;
  }
  int64_t shared_floats() const { return round_up(regions, 16); }  // the images of the rows
  void check(const RunArgs& args) const {
    ops::reference::images_of_rows<float>(row_of(args, 0), regions, map, "ROIPooling",
                                          static_cast<float*>(args.scratch));
  }
  template <class Sink>
  bool pool(const RunArgs& args, int64_t r, Sink& sink) const {
    const auto image = static_cast<int64_t>(static_cast<const float*>(args.scratch)[r]);
    if (image < 0) return false;
    sink.begin(static_cast<const float*>(args.inputs[0]) + image * map.plane() * map.channels);
    const float* box = row_of(args, r) + 1;
    const ops::reference::PooledGrid<float> grid(map, scale, pooling.rows(), pooling.columns(), box[0], box[1], box[2],
                                                 box[3]);
    if (!sink.takes(pooling.cell() == CellOf::sum ? 4 * pooling.cells() : elements_under(grid))) return true;
    for (int64_t y = 0; y < pooling.rows(); ++y)
      for (int64_t x = 0; x < pooling.columns(); ++x) {
        if (pooling.cell() == CellOf::sum)
          interpolate(box, y, x, sink);
        else
          add_all(grid.rows_under(y), grid.columns_under(x), sink);
        sink.end_cell();
      }
    return true;
  }
  void finish(const RunArgs&) const {}

 private:
  using Span = ops::reference::PooledGrid<float>::Span;

  /// Those of all cells: rows times columns of each.
  int64_t elements_under(const ops::reference::PooledGrid<float>& grid) const {
    const auto length = [](Span span) { return std::max<int64_t>(0, span.last - span.first); };
    int64_t rows = 0, columns = 0;
    for (int64_t y = 0; y < pooling.rows(); ++y) rows += length(grid.rows_under(y));
    for (int64_t x = 0; x < pooling.columns(); ++x) columns += length(grid.columns_under(x));
    return rows * columns;
  }
  template <class Sink>
  void add_all(Span rows, Span columns, Sink& sink) const {
    for (int64_t i = rows.first; i < rows.last; ++i)
      for (int64_t j = columns.first; j < columns.last; ++j) sink.add((i * map.width + j) * map.channels, 1);
  }
  template <class Sink>
  void interpolate(const float* box, int64_t cell_y, int64_t cell_x, Sink& sink) const {
    const RoiPoint<float> p{ops::reference::pooled_point(cell_y, pooling.rows(), box[1], box[3], map.height),
                            ops::reference::pooled_point(cell_x, pooling.columns(), box[0], box[2], map.width)};
    if (!(p.y >= 0 && p.y <= static_cast<float>(map.height - 1) && p.x >= 0 &&
          p.x <= static_cast<float>(map.width - 1)))
      return;
    add_sample(ops::reference::bilinear_sample(map, p), 1.0, map.channels, sink);
  }
};

/// ExperimentalDetectronROIFeatureExtractor, whose second output repeats the regions.
struct PyramidRegions {
  RegionPooling pooling;
  std::vector<FeatureMap> maps;
  ops::RoiFeatureAttrs attrs;
  int64_t regions;

  void check(const RunArgs&) const {}
  static int64_t shared_floats() { return 0; }
  template <class Sink>
  bool pool(const RunArgs& args, int64_t r, Sink& sink) const {
    const auto region = ops::reference::pyramid_region(static_cast<const float*>(args.inputs[0]) + r * 4, attrs,
                                                       static_cast<int64_t>(maps.size()));
    if (region.level < 0) return false;
    const auto level = static_cast<size_t>(region.level);
    if (maps[level].plane() == 0) return false;
    const AlignedGrid<float> grid(maps[level], region.start, region.size, pooling.rows(), pooling.columns(),
                                  attrs.sampling_ratio);
    sink.begin(static_cast<const float*>(args.inputs[level + 1]));
    pooling.pool(grid, sink);
    return true;
  }
  void finish(const RunArgs& args) const {
    std::copy_n(static_cast<const float*>(args.inputs[0]), regions * 4, static_cast<float*>(args.outputs[1]));
  }
};

/// With the maps among the inputs [first, last) channels-last.
Proposal propose(const NodeContext& context, size_t first, size_t last) {
  const TensorDesc& dst = context.outputs[0];
  if (dst.type != element::f32) return Reject{"only f32 is vectorised, not " + dst.type.get_type_name()};
  LayoutChoice choice;
  for (size_t i = 0; i < context.inputs.size(); ++i) {
    const TensorDesc& input = context.inputs[i];
    const bool is_map = i >= first && i < last;
    if (is_map && input.count() == 0) return Reject{"a feature map has no elements"};
    choice.inputs.emplace_back(is_map ? Layout::channels_last(4) : input.layout);
  }
  for (const TensorDesc& output : context.outputs) choice.outputs.push_back(output.layout);
  // Four taps of each of four samples, at least.
  choice.cost =
      compute_ns(32 * static_cast<double>(dst.count()), context.isa) + 2 * stream_ns(static_cast<double>(dst.bytes()));
  std::vector<LayoutChoice> choices(2, choice);
  choices[1].outputs[0] = Layout::channels_last(4);
  choices[1].cost -= stream_ns(static_cast<double>(dst.bytes()));
  return choices;
}

Proposal propose_align(const NodeContext& context) {
  const element::Type type = context.inputs[2].type;
  if (type != element::i32 && type != element::i64) return Reject{"indices of images of type " + type.get_type_name()};
  return propose(context, 0, 1);
}

std::unique_ptr<const Executor> create_align(const NodeContext& context, const LayoutChoice&) {
  const ir::Node& node = context.node;
  const bool rotated = node.is("ROIAlignRotated");
  const ops::RoiAlignAttrs& attrs = rotated                          ? node.attrs<ops::RoiAlignRotatedAttrs>()
                                    : node.schema->opset == "opset9" ? node.attrs<ops::RoiAlign9Attrs>()
                                                                     : node.attrs<ops::RoiAlignAttrs>();
  return std::make_unique<RegionExecutor<AlignedRegions>>(
      context, "f32_roi_align",
      AlignedRegions{RegionPooling(context, attrs.mode == RoiAlignMode::max ? CellOf::most : CellOf::sum),
                     FeatureMap(context.inputs[0].dims),
                     {attrs.spatial_scale, attrs.sampling_ratio, attrs.mode, attrs.aligned_mode},
                     rotated,
                     attrs.clockwise_mode,
                     context.inputs[2].type == element::i64,
                     context.outputs[0].dims[0]});
}

std::unique_ptr<const Executor> create_pooling(const NodeContext& context, const LayoutChoice&) {
  const auto& attrs = context.node.attrs<ops::RoiPoolingAttrs>();
  return std::make_unique<RegionExecutor<PooledRegions>>(
      context, "f32_roi_pooling",
      PooledRegions{
          RegionPooling(context, attrs.method == ops::RoiPoolingMethod::bilinear ? CellOf::sum : CellOf::largest),
          FeatureMap(context.inputs[0].dims), static_cast<float>(attrs.spatial_scale), context.outputs[0].dims[0]});
}

std::unique_ptr<const Executor> create_pyramid(const NodeContext& context, const LayoutChoice&) {
  std::vector<FeatureMap> maps;
  for (size_t i = 1; i < context.inputs.size(); ++i) maps.emplace_back(context.inputs[i].dims);
  return std::make_unique<RegionExecutor<PyramidRegions>>(
      context, "f32_roi_features",
      PyramidRegions{RegionPooling(context, CellOf::sum), std::move(maps), context.node.attrs<ops::RoiFeatureAttrs>(),
                     context.outputs[0].dims[0]});
}

constexpr Impl kRoiAlign[] = {{"roi_align", &propose_align, &create_align}};
constexpr Impl kRoiPooling[] = {
    {"roi_pooling", [](const NodeContext& context) { return propose(context, 0, 1); }, &create_pooling}};
constexpr Impl kRoiFeatures[] = {{"roi_features",
                                  [](const NodeContext& context) { return propose(context, 1, context.inputs.size()); },
                                  &create_pyramid}};

}  // namespace

std::span<const Impl> roi_align_impls() { return kRoiAlign; }
std::span<const Impl> roi_pooling_impls() { return kRoiPooling; }
std::span<const Impl> roi_feature_impls() { return kRoiFeatures; }

}  // namespace terroir::cpu
