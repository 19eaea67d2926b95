// Layers with every kind of attribute, several outputs, an output whose size depends on data, and a state made once.
#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <terroir/extension.hpp>

namespace ext = terroir::extension;

namespace {

struct Scale : ext::Layer {
  static constexpr const char* type = "Scale";
  static constexpr uint64_t input_types = ext::types(TERROIR_F32);
  static constexpr uint32_t layouts = ext::kAnyLayout;
  static constexpr uint32_t flags = TERROIR_LAYER_ELEMENTWISE;
  double factor = 2, shift = 0;
  template <typename Visitor>
  void visit(Visitor& attribute) {
    attribute("factor", factor);
    attribute("shift", shift);
  }
  void infer(ext::Inference& in) const { in.set_output(0, in.type(0), in.shape(0)); }
  void compute(const ext::Run& run) const {
    const auto* src = run.input(0).data<const float>();
    auto* dst = run.output(0).data<float>();
    run.parallel_for_range(run.output(0).stored(), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) dst[i] = static_cast<float>(factor) * src[i] + static_cast<float>(shift);
    });
  }
};

// Says what it read: [flag, integer, real, length of text, sum of integers, sum of reals].
struct Attributes : ext::Layer {
  static constexpr const char* type = "Attributes";
  static constexpr const char* opset = "test1";
  bool flag = true;
  int64_t integer = -7;
  double real = 0.1;
  std::string text = "floor";
  std::vector<int64_t> integers{1, 2};
  std::vector<double> reals;
  template <typename Visitor>
  void visit(Visitor& attribute) {
    attribute("flag", flag);
    attribute("integer", integer);
    attribute("real", real);
    attribute("text", text, "floor|ceil");
    attribute("integers", integers);
    attribute.required("reals", reals);
  }
  void infer(ext::Inference& in) const { in.set_output(0, TERROIR_F64, std::vector<ext::Dimension>{6}); }
  void compute(const ext::Run& run) const {
    auto* dst = run.output(0).data<double>();
    dst[0] = flag ? 1 : 0;
    dst[1] = static_cast<double>(integer);
    dst[2] = real;
    dst[3] = static_cast<double>(text.size());
    dst[4] = dst[5] = 0;
    for (const int64_t value : integers) dst[4] += static_cast<double>(value);
    for (const double value : reals) dst[5] += value;
  }
};

// The elements above a limit that is a constant input, and how many there are: extents depend on data.
struct Above : ext::Layer {
  static constexpr const char* type = "Above";
  static constexpr int32_t min_inputs = 2, max_inputs = 2, outputs = 2;
  static constexpr uint64_t input_types = ext::types(TERROIR_F32);
  void infer(ext::Inference& in) const {
    const auto limit = in.value(1);
    if (limit && limit->count() != 1) throw std::invalid_argument("the limit must be one number");
    const ext::Shape shape = in.shape(0);
    const bool known = shape && shape->size() == 1 && (*shape)[0].max >= 0;
    in.set_output(0, in.type(0),
                  std::vector<ext::Dimension>{known ? ext::Dimension(0, (*shape)[0].max) : ext::Dimension(0, -1)});
    in.set_output(1, TERROIR_I64, std::vector<ext::Dimension>{});
  }
  void compute(const ext::Run& run) const {
    const auto* src = run.input(0).data<const float>();
    const float limit = *run.input(1).data<const float>();
    auto* dst = run.output(0).data<float>();
    int64_t count = 0;
    for (int64_t i = 0; i < run.input(0).count(); ++i)
      if (src[i] > limit) dst[count++] = src[i];
    *run.output(1).data<int64_t>() = count;
    run.set_extents(0, {count});
  }
};

// The positive elements, and how often infer() has been called.
struct CountsItself : ext::Layer {
  static constexpr const char* type = "CountsItself";
  static constexpr int32_t outputs = 2;
  static inline std::atomic<int64_t> inferences{0};
  void infer(ext::Inference& in) const {
    ++inferences;
    const ext::Shape shape = in.shape(0);
    in.set_output(0, in.type(0), std::vector<ext::Dimension>{{0, shape ? (*shape)[0].max : -1}});
    in.set_output(1, TERROIR_I64, std::vector<ext::Dimension>{});
  }
  void compute(const ext::Run& run) const {
    const auto* src = run.input(0).data<const float>();
    auto* dst = run.output(0).data<float>();
    run.set_extents(0, {std::copy_if(src, src + run.input(0).count(), dst, [](float x) { return x > 0; }) - dst});
    *run.output(1).data<int64_t>() = inferences;
  }
};

// What prepare() saw of a constant, through scratch memory.
struct Prepared : ext::Layer {
  static constexpr const char* type = "Prepared";
  static constexpr int32_t min_inputs = 2, max_inputs = 2;
  float seen = -1;
  void infer(ext::Inference& in) const { in.set_output(0, in.type(0), in.shape(0)); }
  void prepare(const ext::Preparation& about) {
    if (const auto* values = about.input(1).data<const float>()) seen = values[0];
  }
  uint64_t scratch_bytes(int32_t) const { return sizeof(float); }
  void compute(const ext::Run& run) const {
    *static_cast<float*>(run.scratch()) = seen;
    std::fill_n(run.output(0).data<float>(), run.output(0).count(), *static_cast<float*>(run.scratch()));
  }
};

// Fails where it is told to.
struct Fails : ext::Layer {
  static constexpr const char* type = "Fails";
  std::string where = "compute";
  template <typename Visitor>
  void visit(Visitor& attribute) {
    attribute("where", where, "infer|compute|parallel|unset");
  }
  void infer(ext::Inference& in) const {
    if (where == "infer") throw std::runtime_error("no shape suits me");
    if (where != "unset") in.set_output(0, in.type(0), in.shape(0));
  }
  void compute(const ext::Run& run) const {
    if (where == "parallel")
      run.parallel_for(8, [](int64_t i) {
        if (i == 3) throw std::runtime_error("task 3 fell");
      });
    throw std::runtime_error("no value suits me");
  }
};

}  // namespace

TERROIR_EXTENSION("good", Scale, Attributes, Above, CountsItself, Prepared, Fails)
