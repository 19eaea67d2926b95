#pragma once
// What: boxes moved and scaled by network outputs, as the Detectron ops do it.
#include <algorithm>
#include <cmath>

#include "ops/reference/detection/kept_boxes.hpp"

namespace terroir::ops::reference {

struct ScoredBox {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0, score = 0;
};

/// The box with its centre moved by dx, dy of its size and its size scaled by exp(log_w), exp(log_h), those limited to
/// max_log. `extra` is 1 where boxes include their last row and column.
inline ScoredBox refined(const ScoredBox& box, float dx, float dy, float log_w, float log_h, float max_log,
                         float extra) {
  const float width = box.x1 - box.x0 + extra;
  const float height = box.y1 - box.y0 + extra;
  const float center_x = dx * width + box.x0 + 0.5f * width;
  const float center_y = dy * height + box.y0 + 0.5f * height;
  const float new_width = std::exp(std::min(log_w, max_log)) * width;
  const float new_height = std::exp(std::min(log_h, max_log)) * height;
  return {center_x - 0.5f * new_width, center_y - 0.5f * new_height, center_x + 0.5f * new_width - extra,
          center_y + 0.5f * new_height - extra, box.score};
}

inline SizedBox<float> sized(const ScoredBox& box, float extra) {
  return {box.x0, box.y0, box.x1, box.y1, (box.x1 - box.x0 + extra) * (box.y1 - box.y0 + extra)};
}

}  // namespace terroir::ops::reference
