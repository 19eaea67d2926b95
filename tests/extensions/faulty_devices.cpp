// Devices with one fault each, for the program that checks devices to find. Each says that it runs every layer.
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <terroir/device.hpp>

namespace {

using namespace terroir::extension;

/// What the sum of x and y is and their product, of f32[n]; other models do not compile.
template <typename Fault>
struct Request : DeviceRequest {
  void infer(const DeviceRun& run) override {
    if (run.input_count() != 2) throw std::runtime_error("expected two inputs");
    const Tensor x = run.input(0), y = run.input(1);
    const auto *a = x.data<float>(), *b = y.data<float>();
    auto* sum = static_cast<float*>(run.output(0, x.dims()));
    auto* product = static_cast<float*>(run.output(1, x.dims()));
    const int64_t count = x.dims()[0];
    for (int64_t i = 0; i < count; ++i) {
      sum[i] = a[i] + b[i];
      product[i] = a[i] * b[i];
    }
    fault.spoil(sum, count);
  }
  Fault fault;
};

template <typename Fault>
struct Compiled : DeviceModel {
  std::unique_ptr<DeviceRequest> create_request() override { return std::make_unique<Request<Fault>>(); }
};

template <typename Fault>
struct FaultyDevice : Device {
  static constexpr const char* name = Fault::name;
  static constexpr const char* full_name = "a faulty device";
  std::vector<std::string> supported_layers(const ModelText& model) const {
    std::vector<std::string> names;
    if (model.xml.find("\"Multiply\"") == std::string_view::npos) return names;
    const std::string_view key = " name=\"";
    for (size_t at = model.xml.find("<layer "); at != std::string_view::npos; at = model.xml.find("<layer ", at + 1)) {
      const size_t begin = model.xml.find(key, at) + key.size();
      names.emplace_back(model.xml.substr(begin, model.xml.find('"', begin) - begin));
    }
    return names;
  }
  std::unique_ptr<DeviceModel> compile(const ModelText&, const Properties&) const {
    return std::make_unique<Compiled<Fault>>();
  }
};

struct Sound {
  static constexpr const char* name = "SOUND";
  void spoil(float*, int64_t) {}
};
struct Wrong {
  static constexpr const char* name = "WRONG";
  void spoil(float* sum, int64_t count) { sum[count - 1] += 1; }
};
struct Counting {
  static constexpr const char* name = "COUNTING";
  void spoil(float* sum, int64_t) { sum[0] += static_cast<float>(runs++); }
  int runs = 0;
};
struct Outside {
  static constexpr const char* name = "OUTSIDE";
  void spoil(float* sum, int64_t count) { sum[count] = 1; }
};
struct Refusing {
  static constexpr const char* name = "REFUSING";
  void spoil(float*, int64_t) { throw std::runtime_error("no such sums"); }
};

}  // namespace

TERROIR_EXTENSION("faulty devices", FaultyDevice<Sound>, FaultyDevice<Wrong>, FaultyDevice<Counting>,
                  FaultyDevice<Outside>, FaultyDevice<Refusing>)
