#include <algorithm>
#include <cmath>
#include <queue>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/detection/nms.hpp"
#include "ops/reference/floats.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

constexpr const char* kOp = "NonMaxSuppression";

struct Point {
  float x, y;
};
using Polygon = std::vector<Point>;

/// Twice the area to the left of the way from a over b to c.
float cross(const Point& a, const Point& b, const Point& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/// The corners of a box x, y, width, height, angle, in the direction of growing angles.
Polygon rotated_corners(const float* box, bool clockwise) {
  const float angle = clockwise ? box[4] : -box[4];
  const float along_x = std::cos(angle), along_y = std::sin(angle);
  const float half_width = std::fabs(box[2]) / 2, half_height = std::fabs(box[3]) / 2;
  Polygon corners;
  for (const auto& [right, down] : {std::pair{-1, -1}, std::pair{1, -1}, std::pair{1, 1}, std::pair{-1, 1}}) {
    const float dx = static_cast<float>(right) * half_width, dy = static_cast<float>(down) * half_height;
    corners.push_back({box[0] + dx * along_x - dy * along_y, box[1] + dx * along_y + dy * along_x});
  }
  return corners;
}

/// The part of `shape` inside of the convex polygon `window` (clipping edge by edge, Sutherland and Hodgman 1974).
Polygon clipped(Polygon shape, const Polygon& window) {
  for (size_t i = 0; i < window.size() && !shape.empty(); ++i) {
    const Point& from = window[i];
    const Point& to = window[(i + 1) % window.size()];
    Polygon inside;
    for (size_t k = 0; k < shape.size(); ++k) {
      const Point& here = shape[k];
      const Point& next = shape[(k + 1) % shape.size()];
      const float side = cross(from, to, here), next_side = cross(from, to, next);
      if (side >= 0) inside.push_back(here);
      if ((side > 0 && next_side < 0) || (side < 0 && next_side > 0)) {
        const float part = side / (side - next_side);
        inside.push_back({here.x + part * (next.x - here.x), here.y + part * (next.y - here.y)});
      }
    }
    shape = std::move(inside);
  }
  return shape;
}

float area(const Polygon& shape) {
  float twice = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    const Point& next = shape[(i + 1) % shape.size()];
    twice += shape[i].x * next.y - next.x * shape[i].y;
  }
  return std::fabs(twice) / 2;
}

float rotated_overlap(const float* a, const float* b, bool clockwise) {
  const float both = std::fabs(a[2] * a[3]) + std::fabs(b[2] * b[3]);
  const float common = area(clipped(rotated_corners(a, clockwise), rotated_corners(b, clockwise)));
  return both > common ? common / (both - common) : 0.0f;
}

struct Corners {
  float y0, x0, y1, x1;
};

Corners read_box(const float* box, bool center) {
  if (center) return {box[1] - box[3] / 2, box[0] - box[2] / 2, box[1] + box[3] / 2, box[0] + box[2] / 2};
  // Any two opposite corners.
  return {std::min(box[0], box[2]), std::min(box[1], box[3]), std::max(box[0], box[2]), std::max(box[1], box[3])};
}

float overlap(const Corners& a, const Corners& b) {
  const float area_a = (a.y1 - a.y0) * (a.x1 - a.x0);
  const float area_b = (b.y1 - b.y0) * (b.x1 - b.x0);
  if (area_a <= 0 || area_b <= 0) return 0;
  const float height = std::max(std::min(a.y1, b.y1) - std::max(a.y0, b.y0), 0.0f);
  const float width = std::max(std::min(a.x1, b.x1) - std::max(a.x0, b.x0), 0.0f);
  return height * width / (area_a + area_b - height * width);
}

struct Candidate {
  float score;
  int64_t batch, label, box;
  size_t compared = 0;  // chosen boxes whose effect the score has

  bool operator<(const Candidate& other) const {
    return score < other.score || (score == other.score && box > other.box);
  }
};

struct Thresholds {
  int64_t most = 0;
  float iou = 0, score = 0, sigma = 0;
};

float optional_real(const ir::EvalContext& ctx, size_t input) {
  if (ctx.inputs.size() <= input) return 0;
  const std::vector<float> values = to_floats(ctx.inputs[input]);
  if (values.size() != 1)
    throw_error(ErrorCode::shape_mismatch, kOp, ": input ", input, " must have one element, got ", values.size());
  return values.front();
}

/// The boxes one class keeps, in the order they are chosen.
/// `overlap_of(i, j)` is that of two boxes of the item at hand.
template <class Overlap>
std::vector<Candidate> choose(std::vector<Candidate> all, const Thresholds& thresholds, bool soft_keeps_overlaps,
                              Overlap&& overlap_of) {
  const bool soft = thresholds.sigma > 0;
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(all));
  std::vector<Candidate> chosen;
  while (!queue.empty() && static_cast<int64_t>(chosen.size()) < thresholds.most) {
    Candidate next = queue.top();
    queue.pop();
    const float before = next.score;
    bool dropped = false;
    for (size_t i = chosen.size(); i-- > next.compared && !dropped;) {
      const float iou = overlap_of(next.box, chosen[i].box);
      if (soft) next.score *= std::exp(-0.5f / thresholds.sigma * iou * iou);
      dropped = (iou > thresholds.iou && !(soft && soft_keeps_overlaps)) || next.score <= thresholds.score;
    }
    if (dropped) continue;
    next.compared = chosen.size();
    // A box whose score sank waits for its new turn.
    if (next.score == before)
      chosen.push_back(next);
    else
      queue.push(next);
  }
  return chosen;
}

}  // namespace

void non_max_suppression(const ir::EvalContext& ctx, const NonMaxSuppressionParams& params) {
  const ir::Dims& box_dims = ctx.inputs[0].dims;
  const ir::Dims& score_dims = ctx.inputs[1].dims;
  if (box_dims.size() != 3 || score_dims.size() != 3 || box_dims[2] != (params.rotated ? 5 : 4) ||
      box_dims[0] != score_dims[0] || box_dims[1] != score_dims[2])
    throw_error(ErrorCode::shape_mismatch, kOp, ": boxes ", box_dims, " and scores ", score_dims, " do not fit");
  Thresholds thresholds;
  if (ctx.inputs.size() > 2) thresholds.most = read_integer(ctx.inputs[2], "max_output_boxes_per_class");
  thresholds.iou = optional_real(ctx, 3);
  thresholds.score = optional_real(ctx, 4);
  thresholds.sigma = optional_real(ctx, 5);
  const std::vector<float> raw_boxes = to_floats(ctx.inputs[0]);
  const std::vector<float> scores = to_floats(ctx.inputs[1]);
  const int64_t batches = score_dims[0], labels = score_dims[1], count = score_dims[2];

  std::vector<Candidate> found;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const float* item_boxes = raw_boxes.data() + batch * count * box_dims[2];
    std::vector<Corners> boxes;
    for (int64_t i = 0; i < count && !params.rotated; ++i)
      boxes.push_back(read_box(item_boxes + i * 4, params.center_boxes));
    const auto overlap_of = [&](int64_t a, int64_t b) {
      return params.rotated ? rotated_overlap(item_boxes + a * 5, item_boxes + b * 5, params.clockwise)
                            : overlap(boxes[static_cast<size_t>(a)], boxes[static_cast<size_t>(b)]);
    };
    for (int64_t label = 0; label < labels; ++label) {
      std::vector<Candidate> all;
      const float* row = scores.data() + (batch * labels + label) * count;
      // Not equal ones: a suppressed box has the score 0, which a threshold of 0 must not let pass.
      for (int64_t i = 0; i < count; ++i)
        if (row[i] > thresholds.score) all.push_back({row[i], batch, label, i});
      const auto chosen = choose(std::move(all), thresholds, params.soft_keeps_overlaps, overlap_of);
      found.insert(found.end(), chosen.begin(), chosen.end());
    }
  }
  // They come batch by batch and class by class, so equal scores stay in that order.
  if (params.sort_across)
    std::stable_sort(found.begin(), found.end(),
                     [](const Candidate& a, const Candidate& b) { return a.score > b.score; });

  const int64_t room = ctx.outputs[0].count() / 3;
  const int64_t kept = std::min<int64_t>(room, static_cast<int64_t>(found.size()));
  const int64_t rows = params.fill_rest ? room : kept;
  std::vector<int64_t> indices(static_cast<size_t>(rows * 3), -1);
  std::vector<float> triplets(static_cast<size_t>(rows * 3), -1.0f);
  for (int64_t i = 0; i < kept; ++i) {
    const Candidate& box = found[static_cast<size_t>(i)];
    const auto at = static_cast<size_t>(i * 3);
    indices[at] = box.batch;
    indices[at + 1] = box.label;
    indices[at + 2] = box.box;
    triplets[at] = static_cast<float>(box.batch);
    triplets[at + 1] = static_cast<float>(box.label);
    triplets[at + 2] = box.score;
  }
  ctx.outputs[0].dims = {rows, 3};
  from_indices(indices, ctx.outputs[0]);
  if (ctx.outputs.size() < 3) return;
  ctx.outputs[1].dims = {rows, 3};
  from_floats(triplets, ctx.outputs[1], kOp);
  from_indices({kept}, ctx.outputs[2]);
}

}  // namespace terroir::ops::reference
