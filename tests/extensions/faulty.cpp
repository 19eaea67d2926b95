// Layers with one fault each, for the program that looks for them.
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <terroir/extension.hpp>

namespace ext = terroir::extension;

namespace {

struct Copies : ext::Layer {
  static constexpr uint64_t input_types = ext::types(TERROIR_F32);
  void infer(ext::Inference& in) const { in.set_output(0, in.type(0), in.shape(0)); }
  static void copy(const ext::Run& run, int64_t count) {
    for (int64_t i = 0; i < count; ++i) run.output(0).data<float>()[i] = run.input(0).data<const float>()[i];
  }
};

struct WritesOutside : Copies {
  static constexpr const char* type = "WritesOutside";
  void compute(const ext::Run& run) const {
    copy(run, run.output(0).count());
    if (run.output(0).count() > 0) run.output(0).data<float>()[run.output(0).count()] = 0;
  }
};

struct LeavesOneOut : Copies {
  static constexpr const char* type = "LeavesOneOut";
  void compute(const ext::Run& run) const { copy(run, run.output(0).count() - 1); }
};

// Takes the layout it is given for the plain one.
struct MistakesLayouts : Copies {
  static constexpr const char* type = "MistakesLayouts";
  static constexpr uint32_t layouts = ext::kAnyLayout;
  void compute(const ext::Run& run) const {
    copy(run, run.output(0).stored());
    for (int64_t i = 0; i < run.output(0).stored(); ++i) run.output(0).data<float>()[i] += static_cast<float>(i % 7);
  }
};

struct CountsItsRuns : Copies {
  static constexpr const char* type = "CountsItsRuns";
  void compute(const ext::Run& run) const {
    static std::atomic<int> runs{0};
    copy(run, run.output(0).count());
    if (run.output(0).count() > 0) run.output(0).data<float>()[0] = static_cast<float>(++runs);
  }
};

// Sound, and has no limit.
struct TakesAny : Copies {
  static constexpr const char* type = "TakesAny";
  static constexpr int32_t max_inputs = std::numeric_limits<int32_t>::max();
  void compute(const ext::Run& run) const { copy(run, run.output(0).count()); }
};

struct TooLarge : Copies {
  static constexpr const char* type = "TooLarge";
  void infer(ext::Inference& in) const {
    in.set_output(0, in.type(0), std::vector<ext::Dimension>{std::numeric_limits<int64_t>::max()});
  }
  void compute(const ext::Run&) const {}
};

struct Exits : Copies {
  static constexpr const char* type = "Exits";
  void compute(const ext::Run&) const { std::exit(0); }
};

struct Crashes : Copies {
  static constexpr const char* type = "Crashes";
  void compute(const ext::Run&) const { std::raise(SIGSEGV); }
};

}  // namespace

TERROIR_EXTENSION("faulty", WritesOutside, LeavesOneOut, MistakesLayouts, CountsItsRuns, TakesAny, TooLarge, Crashes,
                  Exits)
