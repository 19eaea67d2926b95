#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <queue>
#include <span>

#include "ir/schema/infer_context.hpp"
#include "ops/reference/detection/best_first.hpp"
#include "ops/reference/detection/kept_boxes.hpp"
#include "ops/reference/detection/nms.hpp"
#include "ops/reference/floats.hpp"
#include "ops/reference/results.hpp"
#include "ops/shape/inputs.hpp"

namespace terroir::ops::reference {
namespace {

constexpr const char* kOp = "NonMaxSuppression";

struct Point {
  float x, y;
};

/// Convex, but for rounding: so many corners as clipping a box by a box can give even then.
struct Polygon {
  static constexpr size_t kMost = 64;
  Point points[kMost];
  size_t size = 0;

  void add(const Point& point) { points[size++] = point; }
  const Point& after(size_t i) const { return points[i + 1 < size ? i + 1 : 0]; }
};

struct RotatedBox {
  Point corners[4];  // in the direction of growing angles
  float area;
  Point centre;
  float reach;  // of the corners from there, and more than what they were rounded by
};

/// Twice the area to the left of the way from a over b to c.
float cross(const Point& a, const Point& b, const Point& c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/// From x, y, width, height, angle.
RotatedBox read_rotated(const float* box, bool clockwise) {
  const float angle = clockwise ? box[4] : -box[4];
  const float along_x = std::cos(angle), along_y = std::sin(angle);
  const float half_width = std::fabs(box[2]) / 2, half_height = std::fabs(box[3]) / 2;
  RotatedBox result{{}, std::fabs(box[2] * box[3]), {box[0], box[1]}, 0};
  result.reach = 1.001f * std::hypot(half_width, half_height) + 1e-6f * (std::fabs(box[0]) + std::fabs(box[1]));
  size_t i = 0;
  for (const auto& [right, down] : {std::pair{-1, -1}, std::pair{1, -1}, std::pair{1, 1}, std::pair{-1, 1}}) {
    const float dx = static_cast<float>(right) * half_width, dy = static_cast<float>(down) * half_height;
    result.corners[i++] = {box[0] + dx * along_x - dy * along_y, box[1] + dx * along_y + dy * along_x};
  }
  return result;
}

/// `inside` becomes the part of `shape` on the left of the way between two points (Sutherland and Hodgman 1974).
void clip(const Polygon& shape, const Point& from, const Point& to, Polygon& inside) {
  inside.size = 0;
  for (size_t k = 0; k < shape.size; ++k) {
    const Point& here = shape.points[k];
    const Point& next = shape.after(k);
    const float side = cross(from, to, here), next_side = cross(from, to, next);
    if (side >= 0) inside.add(here);
    if ((side > 0 && next_side < 0) || (side < 0 && next_side > 0)) {
      const float part = side / (side - next_side);
      inside.add({here.x + part * (next.x - here.x), here.y + part * (next.y - here.y)});
    }
  }
}

float area(const Polygon& shape) {
  float twice = 0;
  for (size_t i = 0; i < shape.size; ++i) {
    const Point& next = shape.after(i);
    twice += shape.points[i].x * next.y - next.x * shape.points[i].y;
  }
  return std::fabs(twice) / 2;
}

/// Most boxes of a picture: their circles do not meet.
bool are_apart(const RotatedBox& a, const RotatedBox& b) {
  const float x = a.centre.x - b.centre.x, y = a.centre.y - b.centre.y, reach = a.reach + b.reach;
  return x * x + y * y > reach * reach;
}

[[gnu::noinline]] float overlap(const RotatedBox& a, const RotatedBox& b) {
  if (are_apart(a, b)) return 0.0f;
  Polygon parts[2];
  for (const Point& corner : a.corners) parts[0].add(corner);
  for (size_t i = 0; i < 4; ++i) clip(parts[i % 2], b.corners[i], b.corners[(i + 1) % 4], parts[(i + 1) % 2]);
  const float both = a.area + b.area, shared = area(parts[0]);
  return both > shared ? shared / (both - shared) : 0.0f;
}

SizedBox<float> read_box(const float* box, bool center) {
  // Without `center` any two opposite corners, y before x.
  const float y0 = center ? box[1] - box[3] / 2 : std::min(box[0], box[2]);
  const float x0 = center ? box[0] - box[2] / 2 : std::min(box[1], box[3]);
  const float y1 = center ? box[1] + box[3] / 2 : std::max(box[0], box[2]);
  const float x1 = center ? box[0] + box[2] / 2 : std::max(box[1], box[3]);
  return {x0, y0, x1, y1, (y1 - y0) * (x1 - x0)};
}

struct Thresholds {
  int64_t most = 0;
  float iou = 0, score = 0, sigma = 0;
};

/// The boxes chosen of one class, best first, and how a candidate meets them.
class ChosenBoxes {
 public:
  ChosenBoxes(const std::vector<SizedBox<float>>& boxes, const BoxOverlap& overlap) : boxes_(boxes), kept_(overlap) {}

  void add(int64_t box) { kept_.add(at(box)); }
  size_t size() const { return static_cast<size_t>(kept_.size()); }
  BoxesMet<float> met(int64_t box, size_t first, float threshold) const {
    return kept_.met(at(box), threshold, static_cast<int64_t>(first));
  }
  /// Leaves those of boxes [begin, end) that no chosen one covers, in their order; returns their end.
  int64_t* uncovered(int64_t* begin, int64_t* end, float threshold) const {
    constexpr int64_t kMost = 32;
    SizedBox<float> candidates[kMost];
    int32_t left[kMost];
    int64_t* next = begin;
    for (; begin < end; begin += kMost) {
      const int64_t n = std::min<int64_t>(end - begin, kMost);
      for (int64_t i = 0; i < n; ++i) candidates[i] = at(begin[i]);
      const int64_t kept = kept_.uncovered(candidates, n, threshold, left);
      for (int64_t i = 0; i < kept; ++i) *next++ = begin[left[i]];
    }
    return next;
  }

 private:
  const SizedBox<float>& at(int64_t box) const { return boxes_[static_cast<size_t>(box)]; }

  const std::vector<SizedBox<float>>& boxes_;
  KeptBoxes<float> kept_;
};

class ChosenRotatedBoxes {
 public:
  explicit ChosenRotatedBoxes(const std::vector<RotatedBox>& boxes) : boxes_(boxes) {}

  void add(int64_t box) { order_.push_back(box); }
  size_t size() const { return order_.size(); }
  float overlap_with(int64_t box, size_t chosen) const {
    return overlap(boxes_[static_cast<size_t>(box)], boxes_[static_cast<size_t>(order_[chosen])]);
  }
  BoxesMet<float> met(int64_t box, size_t first, float threshold) const {
    float squares = 0;
    for (size_t i = first; i < order_.size(); ++i) {
      const float value = overlap_with(box, i);
      if (value > threshold) return {true, 0};
      squares += value * value;
    }
    return {false, squares};
  }
  /// All of them: one by one is soon enough.
  int64_t* uncovered(int64_t*, int64_t* end, float) const { return end; }
  bool any_above(int64_t box, float threshold) const {
    for (size_t i = order_.size(); i-- > 0;)
      if (overlap_with(box, i) > threshold) return true;
    return false;
  }

 private:
  const std::vector<RotatedBox>& boxes_;
  std::vector<int64_t> order_;
};

struct Found {
  float score;
  int64_t batch, label, box;
};

/// A box of one class that waits to be chosen.
struct Candidate {
  float score;
  int64_t box;
  size_t compared = 0;  // chosen boxes whose effect the score has

  bool operator<(const Candidate& other) const {
    return score < other.score || (score == other.score && box > other.box);
  }
};

float optional_real(const ir::EvalContext& ctx, size_t input) {
  if (ctx.inputs.size() <= input) return 0;
  const std::vector<float> values = to_floats(ctx.inputs[input]);
  if (values.size() != 1)
    throw_error(ErrorCode::shape_mismatch, kOp, ": input ", input, " must have one element, got ", values.size());
  return values.front();
}

/// The boxes one class keeps, in the order they are chosen, where scores stay what they are. `scores` are those of the
/// class.
void choose(const float* scores, int64_t count, const Thresholds& thresholds, const std::vector<SizedBox<float>>& boxes,
            const BoxOverlap& overlap, std::vector<Candidate>& found) {
  // All that pass are sorted: that costs no more than to part a few from the rest.
  const std::vector<int64_t> order = best_above({scores, static_cast<size_t>(count)}, thresholds.score, false);
  std::vector<SizedBox<float>> candidates;
  candidates.reserve(order.size());
  for (const int64_t box : order) candidates.push_back(boxes[static_cast<size_t>(box)]);
  for (const int64_t position : suppressed(candidates, thresholds.most, {thresholds.iou}, overlap)) {
    const int64_t box = order[static_cast<size_t>(position)];
    found.push_back({scores[box], box});
  }
}

void choose(const float* scores, int64_t count, const Thresholds& thresholds, ChosenRotatedBoxes chosen,
            std::vector<Candidate>& found) {
  for (const int64_t box : best_above({scores, static_cast<size_t>(count)}, thresholds.score, /*with_equal=*/false)) {
    if (static_cast<int64_t>(chosen.size()) >= thresholds.most) return;
    if (chosen.any_above(box, thresholds.iou)) continue;
    chosen.add(box);
    found.push_back({scores[box], box});
  }
}

/// The same, where scores sink with every chosen box that is met.
template <class Chosen>
void choose_softly(const float* scores, int64_t count, const Thresholds& thresholds, bool soft_keeps_overlaps,
                   Chosen chosen, std::vector<Candidate>& found) {
  // Not equal ones: a suppressed box has the score 0, which a threshold of 0 must not let pass.
  std::vector<int64_t> order = best_above({scores, static_cast<size_t>(count)}, thresholds.score, false);
  std::priority_queue<Candidate> sunk;
  const float most_overlap = soft_keeps_overlaps ? std::numeric_limits<float>::infinity() : thresholds.iou;
  // Most are covered by what has been chosen long before their turn: some at a time are looked through for others.
  constexpr std::ptrdiff_t kTogether = 32;
  int64_t *turn = order.data(), *ready = turn, *coming = turn;
  int64_t* const end = turn + order.size();
  while (static_cast<int64_t>(chosen.size()) < thresholds.most) {
    while (turn == ready && coming < end) {
      turn = coming;
      coming += std::min(kTogether, end - coming);
      ready = chosen.uncovered(turn, coming, most_overlap);
    }
    if (turn == ready && sunk.empty()) break;
    Candidate next;
    if (turn < ready) next = {scores[*turn], *turn};
    if (turn == ready || (!sunk.empty() && next < sunk.top())) {
      next = sunk.top();
      sunk.pop();
    } else {
      ++turn;
    }
    const float before = next.score;
    // Each overlap is a factor exp(-overlap^2 / 2 sigma), so their product is one exponential.
    const auto met = chosen.met(next.box, next.compared, most_overlap);
    if (met.above) continue;
    if (met.squares != 0) next.score *= std::exp(-0.5f / thresholds.sigma * met.squares);
    if (!(next.score > thresholds.score)) continue;  // also of a NaN
    next.compared = chosen.size();
    // A box whose score sank waits for its new turn.
    if (next.score != before) {
      sunk.push(next);
      continue;
    }
    chosen.add(next.box);
    found.push_back(next);
  }
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
  if (!params.rotated) thresholds.iou = just_below(thresholds.iou);  // a box that overlaps as much is covered
  thresholds.score = optional_real(ctx, 4);
  thresholds.sigma = optional_real(ctx, 5);
  const FloatElements raw_boxes(ctx.inputs[0]), scores(ctx.inputs[1]);
  const int64_t batches = score_dims[0], labels = score_dims[1], count = score_dims[2];
  std::vector<SizedBox<float>> boxes(params.rotated ? 0 : static_cast<size_t>(count));
  std::vector<RotatedBox> rotated(params.rotated ? static_cast<size_t>(count) : 0);
  const BoxOverlap overlapping{OverlapRule::with_areas};
  std::vector<Found> found;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const float* item_boxes = raw_boxes.data() + batch * count * box_dims[2];
    for (size_t i = 0; i < boxes.size(); ++i) boxes[i] = read_box(item_boxes + i * 4, params.center_boxes);
    for (size_t i = 0; i < rotated.size(); ++i) rotated[i] = read_rotated(item_boxes + i * 5, params.clockwise);
    std::vector<std::vector<Candidate>> by_label(static_cast<size_t>(labels));
    parallel_for(labels, [&](int64_t label) {
      const float* row = scores.data() + (batch * labels + label) * count;
      auto& mine = by_label[static_cast<size_t>(label)];
      const bool soft = thresholds.sigma > 0, keeps = params.soft_keeps_overlaps;
      if (soft && params.rotated)
        choose_softly(row, count, thresholds, keeps, ChosenRotatedBoxes(rotated), mine);
      else if (soft)
        choose_softly(row, count, thresholds, keeps, ChosenBoxes(boxes, overlapping), mine);
      else if (params.rotated)
        choose(row, count, thresholds, ChosenRotatedBoxes(rotated), mine);
      else
        choose(row, count, thresholds, boxes, overlapping, mine);
    });
    for (int64_t label = 0; label < labels; ++label)
      for (const Candidate& box : by_label[static_cast<size_t>(label)])
        found.push_back({box.score, batch, label, box.box});
  }
  // They come batch by batch and class by class, so equal scores stay in that order.
  if (params.sort_across)
    std::stable_sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.score > b.score; });

  const int64_t room = ctx.outputs[0].count() / 3;
  const int64_t kept = std::min<int64_t>(room, static_cast<int64_t>(found.size()));
  const int64_t rows = params.fill_rest ? room : kept;
  std::vector<int64_t> indices(static_cast<size_t>(rows * 3), -1);
  std::vector<float> triplets(static_cast<size_t>(rows * 3), -1.0f);
  for (int64_t i = 0; i < kept; ++i) {
    const Found& box = found[static_cast<size_t>(i)];
    const auto at = static_cast<size_t>(i * 3);
    indices[at] = box.batch;
    indices[at + 1] = box.label;
    indices[at + 2] = box.box;
    triplets[at] = static_cast<float>(box.batch);
    triplets[at + 1] = static_cast<float>(box.label);
    triplets[at + 2] = box.score;
  }
  settle(ctx, 0, {rows, 3});
  from_indices(indices, ctx.outputs[0]);
  if (ctx.outputs.size() < 3) return;
  settle(ctx, 1, {rows, 3});
  from_floats(triplets, ctx.outputs[1], kOp);
  from_indices({kept}, ctx.outputs[2]);
}

}  // namespace terroir::ops::reference
