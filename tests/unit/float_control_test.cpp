// What inferences compute does not depend on the floating-point control of the thread that asks for them.
#include "runtime/parallel/float_control.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <limits>

#include "terroir/cpu_properties.hpp"
#include "terroir/terroir.hpp"
#include "tests/support/small_network.hpp"
#include "tests/unit/float_tensors.hpp"

#if defined(TERROIR_HAS_FLOAT_CONTROL)

namespace terroir {
namespace {

using parallel::Denormals;
using parallel::FloatControl;
using parallel::FloatControlScope;

Tensor infer(const CompiledModel& compiled, const Tensor& input) {
  InferRequest request = CompiledModel(compiled).create_infer_request();
  request.set_input_tensor(input);
  request.infer();
  return request.get_output_tensor();
}

TEST(FloatControl, OfTheCallerDoesNotMatter) {
  Tensor image(element::f32, {1, 3, 40, 40});
  const std::vector<float> pixels = noise(image.get_size(), 3);
  std::copy(pixels.begin(), pixels.end(), image.data<float>());
  const auto model = network();  // its weights are made by arithmetic, too
  Core core;
  for (const std::string& device : core.get_available_devices()) {
    const std::vector<float> expected = values_of(infer(core.compile_model(model, device), image));
    const FloatControlScope flushing(FloatControl(Denormals::zero));
    std::fesetround(FE_UPWARD);
    const FloatControl mine = FloatControl::current();
    EXPECT_EQ(values_of(infer(core.compile_model(model, device), image)), expected) << device;
    EXPECT_EQ(FloatControl::current(), mine) << "the caller has its own again";
    std::fesetround(FE_TONEAREST);
  }
}

TEST(FloatControl, DenormalsAreZeroWhenAsked) {
  ModelBuilder b("halves");
  const auto x = b.parameter(element::f32, {1 << 18}, "x");  // enough for two threads
  b.result(b.op("Multiply", "opset1", {x, b.constant(element::f32, Shape{1}, {0.5f})}, {}, "half"));
  const auto model = b.build();
  Tensor tiny(element::f32, {1 << 18});
  std::fill_n(tiny.data<float>(), tiny.get_size(), std::numeric_limits<float>::min());
  Core core;
  const float denormal = std::numeric_limits<float>::min() / 2;
  for (const std::string& device : core.get_available_devices()) {
    EXPECT_EQ(values_of(infer(core.compile_model(model, device), tiny)), std::vector<float>(tiny.get_size(), denormal));
    const CompiledModel flushing = core.compile_model(model, device, intel_cpu::denormals_optimization(true));
    EXPECT_TRUE(flushing.get_property(intel_cpu::denormals_optimization));
    EXPECT_EQ(values_of(infer(flushing, tiny)), std::vector<float>(tiny.get_size(), 0.f)) << device;
  }
}

}  // namespace
}  // namespace terroir

#endif
