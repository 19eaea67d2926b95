#include "ops/reference/detection/detection_output.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "ir/base/error.hpp"
#include "ir/schema/infer_context.hpp"
#include "ops/reference/detection/best_first.hpp"
#include "ops/reference/detection/kept_boxes.hpp"
#include "ops/reference/dispatch.hpp"

namespace terroir::ops::reference {
namespace {

template <class F>
struct Box {
  F x0 = 0, y0 = 0, x1 = 0, y1 = 0;
};

template <class F>
SizedBox<F> sized(const Box<F>& box) {
  const bool empty = box.x1 < box.x0 || box.y1 < box.y0;
  return {box.x0, box.y0, box.x1, box.y1, empty ? F{0} : (box.x1 - box.x0) * (box.y1 - box.y0)};
}

template <class F>
Box<F> clipped(const Box<F>& box) {
  const auto unit = [](F x) { return std::max<F>(0, std::min<F>(1, x)); };
  return {unit(box.x0), unit(box.y0), unit(box.x1), unit(box.y1)};
}

/// Extents, checked once so that everything below may index freely.
struct Sizes {
  int64_t images, priors, classes, location_classes, prior_batches;
};

Sizes read_sizes(const ir::EvalContext& ctx, const DetectionOutputParams& params, int64_t num_classes) {
  const auto& in = ctx.inputs;
  Sizes sizes{};
  const auto require = [](bool right, const auto&... parts) {
    if (!right) throw_error(ErrorCode::shape_mismatch, "DetectionOutput: ", parts...);
  };
  require(in[0].dims.size() == 2 && in[1].dims.size() == 2 && in[2].dims.size() == 3,
          "inputs of ranks 2, 2, 3 expected");
  sizes.images = in[0].dims[0];
  sizes.priors = in[2].dims[2] / params.prior_size();
  require(sizes.priors > 0, "there are no priors in ", in[2].dims);
  sizes.classes = num_classes > 0 ? num_classes : in[1].dims[1] / sizes.priors;
  sizes.location_classes = params.share_location ? 1 : sizes.classes;
  sizes.prior_batches = in[2].dims[0];
  require(in[0].dims[1] == sizes.priors * sizes.location_classes * 4, "box logits ", in[0].dims, " do not fit ",
          sizes.priors, " priors");
  require(in[1].dims == ir::Dims{sizes.images, sizes.priors * sizes.classes}, "class predictions ", in[1].dims,
          " do not fit ", sizes.priors, " priors");
  require(sizes.prior_batches == 1 || sizes.prior_batches == sizes.images, "proposals ", in[2].dims, " for ",
          sizes.images, " images");
  require(in[2].dims[1] == (params.variance_encoded_in_target ? 1 : 2), "proposals ", in[2].dims, " lack variances");
  if (in.size() == 5) {
    require(in[3].dims == ir::Dims{sizes.images, sizes.priors * 2}, "additional class predictions ", in[3].dims);
    require(in[4].dims == in[0].dims, "additional box predictions ", in[4].dims);
  }
  return sizes;
}

template <class F>
struct Candidate {
  F score;
  int64_t label, prior;
};

/// `most` of them, fewer than there are, best first.
template <class F>
void keep_best_of(std::vector<Candidate<F>>& candidates, int64_t most) {
  const auto better = [](const Candidate<F>& a, const Candidate<F>& b) {
    if (a.score != b.score) return a.score > b.score;
    return a.prior != b.prior ? a.prior < b.prior : a.label < b.label;
  };
  std::nth_element(candidates.begin(), candidates.begin() + most, candidates.end(), better);
  candidates.resize(static_cast<size_t>(most));
  std::sort(candidates.begin(), candidates.end(), better);
}

template <class T>
class Detector {
 public:
  using F = compute_t<T>;
  using Boxes = std::vector<Box<F>>;
  /// Chosen priors by class, best first.
  using Chosen = std::vector<std::vector<int64_t>>;

  Detector(const ir::EvalContext& ctx, const DetectionOutputParams& params, const Sizes& sizes)
      : params_(params),
        sizes_(sizes),
        locations_(ctx.inputs[0].as<T>()),
        confidences_(ctx.inputs[1].as<T>()),
        converted_priors_(converted(ctx.inputs[2])),
        priors_(converted_priors_.empty() ? ctx.inputs[2].as<T>() : converted_priors_.data()),
        more_confidences_(ctx.inputs.size() == 5 ? ctx.inputs[3].as<T>() : nullptr),
        more_locations_(ctx.inputs.size() == 5 ? ctx.inputs[4].as<T>() : nullptr),
        dst_(ctx.outputs[0].as<T>()),
        rows_(ctx.outputs[0].count() / 7) {}

  void run() {
    std::fill(dst_, dst_ + rows_ * 7, T(0.0f));
    int64_t row = 0;
    for (int64_t image = 0; image < sizes_.images; ++image) {
      read_scores(image);
      decode(image);
      Chosen chosen = params_.decrease_label_id ? suppress_jointly() : suppress_per_class();
      keep_best(chosen);
      for (int64_t label = 0; label < sizes_.classes; ++label)
        for (const int64_t prior : chosen[index(label)])
          if (row < rows_) write(row++, image, label, prior);
    }
    if (row < rows_) dst_[row * 7] = T(-1.0f);
  }

 private:
  F score(int64_t label, int64_t prior) const { return scores_[index(label * sizes_.priors + prior)]; }
  const Boxes& boxes_of(int64_t label) const { return boxes_[index(params_.share_location ? 0 : label)]; }
  static constexpr int64_t kPriorsPerTask = 256;
  static size_t index(int64_t i) { return static_cast<size_t>(i); }

  const T* priors_of(int64_t image) const {
    const int64_t batch = sizes_.prior_batches == 1 ? 0 : image;
    return priors_ + batch * sizes_.priors * params_.prior_size() * (params_.variance_encoded_in_target ? 1 : 2);
  }

  /// Priors with the number of their image in front end where it is -1, as Proposal writes them.
  int64_t used_priors(int64_t image) const {
    int64_t used = 0;
    const T* priors = priors_of(image);
    while (used < sizes_.priors && (params_.normalized || static_cast<F>(priors[used * params_.prior_size()]) != F{-1}))
      ++used;
    return used;
  }

  /// Scores of one image, class by class; NaN, which is never chosen, for priors that are not used.
  void read_scores(int64_t image) {
    const int64_t used = used_priors(image);
    scores_.resize(index(sizes_.classes * sizes_.priors));
    const T* src = confidences_ + image * sizes_.priors * sizes_.classes;
    const T* objectness = more_confidences_ ? more_confidences_ + image * sizes_.priors * 2 : nullptr;
    parallel_ranges(sizes_.priors, kPriorsPerTask, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const bool dropped =
            objectness && static_cast<F>(objectness[p * 2 + 1]) < static_cast<F>(params_.objectness_score);
        for (int64_t c = 0; c < sizes_.classes; ++c)
          scores_[index(c * sizes_.priors + p)] = p >= used  ? std::numeric_limits<F>::quiet_NaN()
                                                  : !dropped ? static_cast<F>(src[p * sizes_.classes + c])
                                                  : c == params_.background_label_id ? F{1}
                                                                                     : F{0};
      }
    });
  }

  /// Boxes of one image, per location class.
  void decode(int64_t image) {
    const T* priors = priors_of(image);
    const T* variances = params_.variance_encoded_in_target ? nullptr : priors + sizes_.priors * params_.prior_size();
    boxes_.assign(index(sizes_.location_classes), {});
    for (int64_t c = 0; c < sizes_.location_classes; ++c) {
      Boxes& boxes = boxes_[index(c)];
      boxes.resize(index(sizes_.priors));
      // The background is never reported.
      if (!params_.share_location && c == params_.background_label_id) continue;
      parallel_ranges(sizes_.priors, kPriorsPerTask, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p) {
          const T* prior = priors + p * params_.prior_size() + (params_.normalized ? 0 : 1);
          const T* variance = variances ? variances + p * 4 : nullptr;
          const int64_t at = ((image * sizes_.priors + p) * sizes_.location_classes + c) * 4;
          Box<F> box = read(prior);
          // With five inputs the first offsets give the priors of the second.
          if (more_locations_) box = decode_one(box, variance, read(more_locations_ + at));
          boxes[index(p)] = decode_one(box, variance, read(locations_ + at));
        }
      });
    }
  }

  static std::vector<T> converted(const ir::TensorView& proposals) {
    std::vector<T> result;
    if (proposals.type == element::from<T>()) return result;
    for (const double value : ir::to_reals(proposals)) result.push_back(static_cast<T>(static_cast<float>(value)));
    return result;
  }

  static Box<F> read(const T* src) {
    return {static_cast<F>(src[0]), static_cast<F>(src[1]), static_cast<F>(src[2]), static_cast<F>(src[3])};
  }

  Box<F> decode_one(Box<F> prior, const T* variance, const Box<F>& offset) const {
    if (!params_.normalized) {
      prior.x0 /= static_cast<F>(params_.input_width);
      prior.y0 /= static_cast<F>(params_.input_height);
      prior.x1 /= static_cast<F>(params_.input_width);
      prior.y1 /= static_cast<F>(params_.input_height);
    }
    const Box<F> v = variance ? read(variance) : Box<F>{1, 1, 1, 1};
    Box<F> box;
    if (params_.code_type == BoxCode::corner) {
      box = {prior.x0 + v.x0 * offset.x0, prior.y0 + v.y0 * offset.y0, prior.x1 + v.x1 * offset.x1,
             prior.y1 + v.y1 * offset.y1};
    } else {
      const F prior_width = prior.x1 - prior.x0;
      const F prior_height = prior.y1 - prior.y0;
      const F x = v.x0 * offset.x0 * prior_width + (prior.x0 + prior.x1) / 2;
      const F y = v.y0 * offset.y0 * prior_height + (prior.y0 + prior.y1) / 2;
      const F width = std::exp(v.x1 * offset.x1) * prior_width;
      const F height = std::exp(v.y1 * offset.y1) * prior_height;
      box = {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
    }
    return params_.clip_before_nms ? clipped(box) : box;
  }

  int64_t most_candidates() const { return params_.top_k < 0 ? INT64_MAX : params_.top_k; }

  /// One class, with the boxes it has chosen.
  struct ClassChoice {
    explicit ClassChoice(const BoxOverlap& overlap) : kept(overlap) {}

    KeptBoxes<F> kept;
    std::vector<int64_t> priors;
  };

  /// Adds the candidate to its class unless a box chosen before overlaps it.
  void choose(ClassChoice& choice, const Candidate<F>& candidate) const {
    const SizedBox<F> box = sized(boxes_of(candidate.label)[index(candidate.prior)]);
    if (choice.kept.any_above(box, static_cast<F>(params_.nms_threshold))) return;
    choice.kept.add(box);
    choice.priors.push_back(candidate.prior);
  }

  /// Each class for itself (as in Caffe).
  Chosen suppress_per_class() const {
    Chosen chosen(index(sizes_.classes));
    parallel_for(sizes_.classes, [&](int64_t c) {
      if (c == params_.background_label_id) return;
      const std::span<const F> scores(scores_.data() + c * sizes_.priors, index(sizes_.priors));
      const std::vector<int64_t> order =
          best_above(scores, static_cast<F>(params_.confidence_threshold), false, most_candidates());
      std::vector<SizedBox<F>> boxes;
      boxes.reserve(order.size());
      for (const int64_t p : order) boxes.push_back(sized(boxes_of(c)[index(p)]));
      for (const int64_t position : suppressed(boxes, INT64_MAX, {static_cast<F>(params_.nms_threshold)}, overlap_))
        chosen[index(c)].push_back(order[index(position)]);
    });
    return chosen;
  }

  /// Each prior for its best class only (as in MXNet); class 0 is the background.
  Chosen suppress_jointly() const {
    std::vector<F> scores(index(sizes_.priors), std::numeric_limits<F>::quiet_NaN());
    std::vector<int64_t> labels(scores.size());
    for (int64_t p = 0; p < sizes_.priors; ++p) {
      F best = -1;
      int64_t label = 0;
      for (int64_t c = 1; c < sizes_.classes; ++c) {
        if (c == params_.background_label_id || !(score(c, p) > best)) continue;
        best = score(c, p);
        label = c;
      }
      if (label > 0) scores[index(p)] = best;
      labels[index(p)] = label;
    }
    std::vector<ClassChoice> choices(index(sizes_.classes), ClassChoice(overlap_));
    for (const int64_t p : best_above<F>(scores, static_cast<F>(params_.confidence_threshold), true, most_candidates()))
      choose(choices[index(labels[index(p)])], {scores[index(p)], labels[index(p)], p});
    Chosen chosen;
    for (ClassChoice& choice : choices) chosen.push_back(std::move(choice.priors));
    return chosen;
  }

  void keep_best(Chosen& chosen) const {
    std::vector<Candidate<F>> all;
    for (int64_t label = 0; label < sizes_.classes; ++label)
      for (const int64_t prior : chosen[index(label)]) all.push_back({score(label, prior), label, prior});
    const int64_t most = params_.keep_top_k.front();
    if (most < 0 || all.size() <= index(most)) return;
    keep_best_of(all, most);
    for (std::vector<int64_t>& priors : chosen) priors.clear();
    for (const Candidate<F>& candidate : all) chosen[index(candidate.label)].push_back(candidate.prior);
  }

  void write(int64_t row, int64_t image, int64_t label, int64_t prior) {
    const Box<F>& found = boxes_of(label)[index(prior)];
    const Box<F> box = params_.clip_after_nms ? clipped(found) : found;
    const F values[7] = {static_cast<F>(image),
                         static_cast<F>(params_.decrease_label_id ? label - 1 : label),
                         score(label, prior),
                         box.x0,
                         box.y0,
                         box.x1,
                         box.y1};
    for (int64_t i = 0; i < 7; ++i) dst_[row * 7 + i] = static_cast<T>(values[i]);
  }

  const DetectionOutputParams& params_;
  const BoxOverlap overlap_{OverlapRule::with_common};
  const Sizes sizes_;
  const T* locations_;
  const T* confidences_;
  std::vector<T> converted_priors_;  // empty where the proposals are of type T already
  const T* priors_;
  const T* more_confidences_;
  const T* more_locations_;
  T* dst_;
  int64_t rows_;
  std::vector<F> scores_;     // [class][prior] of the image at hand
  std::vector<Boxes> boxes_;  // [location class][prior] of the image at hand
};

}  // namespace

void detection_output(const ir::EvalContext& ctx, const DetectionOutputParams& params, int64_t num_classes) {
  const Sizes sizes = read_sizes(ctx, params, num_classes);
  dispatch_type<TERROIR_FLOATS>(ctx.inputs[0].type, "DetectionOutput",
                                [&](auto tag) { Detector<decltype(tag)>(ctx, params, sizes).run(); });
}

}  // namespace terroir::ops::reference
