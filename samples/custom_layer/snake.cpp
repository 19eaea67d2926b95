// A layer of your own, as a library for `benchmark_app -extensions` or Core::add_extension().
//
// Snake: y = x + sin(alpha x)^2 / alpha, an activation that learns periodic functions.
// Source: Ziyin, Hartwig, Ueda, "Neural Networks Fail to Learn Periodic Functions and How to Fix It", 2020, section 3.
#include <cmath>
#include <stdexcept>
#include <terroir/extension.hpp>

namespace ext = terroir::extension;

struct Snake : ext::Layer {
  static constexpr const char* type = "Snake";
  static constexpr uint64_t input_types = ext::types(TERROIR_F32);
  static constexpr uint32_t layouts = ext::kAnyLayout;  // so that no reorder is put around it
  static constexpr uint32_t flags = TERROIR_LAYER_ELEMENTWISE | TERROIR_LAYER_MAPS_ZERO_TO_ZERO;

  double alpha = 1;

  template <typename Visitor>
  void visit(Visitor& attribute) {
    attribute("alpha", alpha);
  }

  void infer(ext::Inference& in) const {
    if (!(alpha > 0)) throw std::invalid_argument("alpha must be positive, got " + std::to_string(alpha));
    in.set_output(0, in.type(0), in.shape(0));
  }

  void compute(const ext::Run& run) const {
    const auto a = static_cast<float>(alpha);
    const auto* src = run.input(0).data<const float>();
    auto* dst = run.output(0).data<float>();
    run.parallel_for_range(run.output(0).stored(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const float s = std::sin(a * src[i]);
        dst[i] = src[i] + s * s / a;
      }
    });
  }
};

TERROIR_EXTENSION("snake", Snake)
