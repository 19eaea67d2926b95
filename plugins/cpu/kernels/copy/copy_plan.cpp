#include "plugins/cpu/kernels/copy/copy_plan.hpp"

#include <algorithm>
#include <cstring>

#include "ir/base/error.hpp"
#include "plugins/cpu/kernels/reorder/streamed_results.hpp"

namespace terroir::cpu {
namespace {

// Enough to be worth handing out.
constexpr int64_t kTaskBytes = 65536;
// Of a row that is repeated: half the first cache.
constexpr int64_t kRepeatedBytes = 16384;
// Where two tasks meet, so that they write to different cache lines.
constexpr int64_t kLine = 64;
// Lines so far apart share few places of the first cache, which holds this many of them.
constexpr int64_t kSameSet = 1024, kLinesOfSet = 8;
// Axes that one row's position is made of.
constexpr size_t kMaxOuter = 24;

int64_t chunks(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool is_even(const CopyAxis& axis) { return axis.runs.empty(); }

int64_t source(const CopyAxis& axis, int64_t i) {
  return is_even(axis) ? i * axis.src_step : run_at(axis.runs, i)->at(i);
}

/// What is one run of the source needs no runs.
void drop_only_run(CopyAxis& axis, int64_t& src_begin) {
  if (axis.runs.size() != 1 || has_fill(axis.runs)) return;
  src_begin += axis.runs[0].src;
  axis.src_step = axis.runs[0].src_step;
  axis.runs.clear();
}

}  // namespace

CopyPlan::CopyPlan(std::vector<CopyAxis> axes, int64_t element_bytes, int64_t src_begin, int64_t dst_begin,
                   const TileKernels& tiles)
    : element_bytes_(element_bytes), unit_(element_bytes), src_begin_(src_begin), dst_begin_(dst_begin), tiles_(tiles) {
  simplify(axes);
  outer_ = std::move(axes);
  choose_row();
  choose_segments();
  cut_into_tasks();
}

/// Axes that go together become one; what is contiguous on both sides becomes the unit.
void CopyPlan::simplify(std::vector<CopyAxis>& axes) {
  std::vector<CopyAxis> merged;
  for (CopyAxis& axis : axes) {
    drop_only_run(axis, src_begin_);
    if (axis.extent == 1 && is_even(axis)) continue;
    CopyAxis* last = merged.empty() ? nullptr : &merged.back();
    if (last && is_even(*last) && is_even(axis) && last->src_step == axis.src_step * axis.extent &&
        last->dst_step == axis.dst_step * axis.extent) {
      last->extent *= axis.extent;
      last->src_step = axis.src_step;
      last->dst_step = axis.dst_step;
    } else {
      merged.push_back(std::move(axis));
    }
  }
  while (!merged.empty() && is_even(merged.back()) && merged.back().src_step == unit_ &&
         merged.back().dst_step == unit_) {
    unit_ *= merged.back().extent;
    merged.pop_back();
  }
  axes = std::move(merged);
}

void CopyPlan::choose_row() {
  if (outer_.empty() || unit_ > kTaskBytes) {  // runs, cut byte by byte
    row_ = {unit_, 1, 1, {}};
    unit_ = 1;
    return;
  }
  row_ = std::move(outer_.back());
  outer_.pop_back();
  if (!is_even(row_) || row_.dst_step != unit_ || std::abs(row_.src_step) <= unit_ || !is_tile_unit(unit_)) return;
  const auto column = std::find_if(outer_.begin(), outer_.end(),
                                   [this](const CopyAxis& axis) { return is_even(axis) && axis.src_step == unit_; });
  if (column == outer_.end()) return;
  how_ = How::tile;
  column_ = std::move(*column);
  outer_.erase(column);
}

void CopyPlan::choose_segments() {
  if (how_ == How::tile) return;
  if (is_even(row_)) {
    segments_ = {{0, row_.extent, 0, row_.src_step}};
    return;
  }
  segments_ = std::move(row_.runs);
  // Segments of so few units that finding them costs more than moving them.
  constexpr int64_t kShort = 4;
  if (has_fill(segments_) || row_.dst_step != unit_ || row_.extent >= kShort * static_cast<int64_t>(segments_.size()))
    return;
  how_ = How::indexed;
  indexed_ = sources_of(segments_);
  segments_ = {};
}

void CopyPlan::cut_into_tasks() {
  TERROIR_ASSERT(outer_.size() <= kMaxOuter, outer_.size());
  for (const CopyAxis& axis : outer_) rows_ *= axis.extent;
  if (rows_ == 0 || unit_ == 0 || row_.extent == 0 || (how_ == How::tile && column_.extent == 0)) {
    row_blocks_ = 0;
    return;
  }
  const int64_t columns = how_ == How::tile ? column_.extent : 1;
  if (is_streamed(rows_ * row_.extent * columns * unit_)) tiles_.transpose = tiles_.stream;
  const int64_t row_bytes = row_.extent * columns * unit_;
  pieces_of_column_ = columns > row_.extent;
  const int64_t extent = pieces_of_column_ ? columns : row_.extent;
  const int64_t grain = std::max<int64_t>(1, kLine / unit_);
  const bool repeats = how_ == How::segments && !outer_.empty() &&
                       std::all_of(outer_.begin(), outer_.end(),
                                   [](const CopyAxis& axis) { return is_even(axis) && axis.src_step == 0; });
  // Short rows that fill their lines together, or short columns that empty theirs: few lines at once, which wait in the
  // first cache until all have come.
  const auto share_lines = [&](int64_t units, int64_t step, int64_t CopyAxis::*side, int64_t lines) {
    return how_ == How::tile && lines > kLinesOfSet && step % kSameSet == 0 && units * unit_ < kLine &&
           !outer_.empty() && is_even(outer_.back()) && outer_.back().*side == units * unit_;
  };
  const bool of_rows = share_lines(row_.extent, column_.dst_step, &CopyAxis::dst_step, columns);
  if (of_rows || share_lines(columns, row_.src_step, &CopyAxis::src_step, row_.extent)) {
    pieces_of_column_ = of_rows;
    piece_extent_ = of_rows ? kLinesOfSet : std::max(kLinesOfSet, grain);
    pieces_ = chunks(of_rows ? columns : row_.extent, piece_extent_);
    rows_per_block_ = std::max<int64_t>(1, kTaskBytes / ((of_rows ? row_.extent : columns) * unit_ * piece_extent_));
  } else if (repeats && row_bytes > kRepeatedBytes) {
    // A piece that the first cache holds goes to all its places before the next.
    piece_extent_ = chunks(chunks(extent, chunks(row_bytes, kRepeatedBytes)), grain) * grain;
    pieces_ = chunks(extent, piece_extent_);
    rows_per_block_ = rows_;
  } else if (row_bytes > 2 * kTaskBytes) {
    piece_extent_ = chunks(chunks(extent, chunks(row_bytes, kTaskBytes)), grain) * grain;
    pieces_ = chunks(extent, piece_extent_);
  } else {
    piece_extent_ = extent;
    rows_per_block_ = std::max<int64_t>(1, kTaskBytes / row_bytes);
  }
  row_blocks_ = chunks(rows_, rows_per_block_);
}

CopyPlan::Range CopyPlan::piece(int64_t index) const {
  const int64_t extent = pieces_of_column_ ? column_.extent : row_.extent;
  return {index * piece_extent_, std::min(extent, (index + 1) * piece_extent_)};
}

void CopyPlan::run(int64_t task, const void* src, void* dst, const void* fill) const noexcept {
  const Range part = piece(task % pieces_);
  const int64_t first = task / pieces_ * rows_per_block_, last = std::min(rows_, first + rows_per_block_);
  // Places of the axes before each one: a step along an axis changes those behind it only.
  const size_t rank = outer_.size();
  int64_t index[kMaxOuter], from[kMaxOuter + 1], to[kMaxOuter + 1];
  from[0] = src_begin_;
  to[0] = dst_begin_;
  int64_t rest = first;
  for (size_t axis = rank; axis-- > 0; rest /= outer_[axis].extent) index[axis] = rest % outer_[axis].extent;
  // Rows along the last of these axes are walked in registers.
  const CopyAxis one{.extent = 1};
  const CopyAxis& inner = rank > 0 ? outer_.back() : one;
  int64_t at_inner = rank > 0 ? index[rank - 1] : 0;
  const size_t above = rank > 0 ? rank - 1 : 0;
  size_t changed = 0;
  for (int64_t row = first; row < last;) {
    for (size_t axis = changed; axis < above; ++axis) {
      const int64_t at = source(outer_[axis], index[axis]);
      from[axis + 1] = from[axis] == kFill || at == kFill ? kFill : from[axis] + at;
      to[axis + 1] = to[axis] + index[axis] * outer_[axis].dst_step;
    }
    const int64_t end = std::min(inner.extent, at_inner + last - row);
    char* row_dst = static_cast<char*>(dst) + to[above] + at_inner * inner.dst_step;
    row += end - at_inner;
    const CopyRun even{0, end, 0, inner.src_step};
    const CopyRun* run = is_even(inner) ? &even : run_at(inner.runs, at_inner);
    for (; at_inner < end; ++run) {
      const bool filled = from[above] == kFill || run->src == kFill;
      for (const int64_t stop = std::min(end, run->begin + run->count); at_inner < stop;
           ++at_inner, row_dst += inner.dst_step)
        run_row(filled ? nullptr : static_cast<const char*>(src) + from[above] + run->at(at_inner), row_dst, fill,
                part);
    }
    at_inner = 0;
    changed = above;
    while (changed > 0 && ++index[changed - 1] == outer_[changed - 1].extent) index[--changed] = 0;
    if (changed > 0) --changed;
  }
}

/// Null `src`: all of the row is filled.
void CopyPlan::run_row(const char* src, char* dst, const void* fill, Range part) const noexcept {
  if (how_ == How::tile) {
    const Range rows = pieces_of_column_ ? Range{0, row_.extent} : part;
    const Range columns = pieces_of_column_ ? part : Range{0, column_.extent};
    const int64_t height = rows.end - rows.begin, width = columns.end - columns.begin;
    dst += columns.begin * column_.dst_step + rows.begin * unit_;
    if (src) {
      copy_tile(src + rows.begin * row_.src_step + columns.begin * unit_, row_.src_step, dst, column_.dst_step, unit_,
                height, width, tiles_);
    } else {
      for (int64_t c = 0; c < width; ++c) fill_units(dst + c * column_.dst_step, height, fill);
    }
    return;
  }
  char* begin = dst + part.begin * row_.dst_step;
  if (!src) return fill_units(begin, part.end - part.begin, fill);
  if (how_ == How::indexed) return copy_indexed(src, indexed_.data() + part.begin, begin, unit_, part.end - part.begin);
  for (const CopyRun& segment : segments_) {
    const int64_t i = std::max(part.begin, segment.begin);
    const int64_t count = std::min(part.end, segment.begin + segment.count) - i;
    if (count <= 0) continue;
    char* to = dst + i * row_.dst_step;
    if (segment.src == kFill) {
      fill_units(to, count, fill);
      continue;
    }
    copy_units(src + segment.src + (i - segment.begin) * segment.src_step, segment.src_step, to, row_.dst_step, unit_,
               count);
  }
}

/// Units of a row, one behind the other or spread as the row is.
void CopyPlan::fill_units(char* dst, int64_t count, const void* fill) const noexcept {
  const bool spread = how_ != How::tile && row_.dst_step != unit_;
  const int64_t runs = spread ? count : 1, bytes = spread ? unit_ : count * unit_;
  for (int64_t i = 0; i < runs; ++i, dst += row_.dst_step) {
    if (fill)
      repeat_unit(static_cast<const char*>(fill), dst, element_bytes_, bytes / element_bytes_);
    else
      std::memset(dst, 0, static_cast<size_t>(bytes));
  }
}

}  // namespace terroir::cpu
