// Callbacks of requests that wait for each other.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <vector>

#include "terroir/model_builder.hpp"
#include "terroir/terroir.hpp"

namespace terroir {
namespace {

TEST(RequestCircles, CallbacksMayWaitForEachOther) {
  ModelBuilder b;
  b.result(b.op("Relu", "opset1", {b.parameter(element::f32, {1})}));
  CompiledModel compiled = Core().compile_model(b.build(), "CPU", num_streams(3));
  for (const size_t count : {size_t{2}, size_t{3}}) {
    std::vector<InferRequest> requests;
    std::vector<std::promise<void>> began(count);
    std::vector<std::shared_future<void>> has_begun;
    std::atomic<int> ended{0};
    for (size_t i = 0; i < count; ++i) {
      requests.push_back(compiled.create_infer_request());
      requests[i].get_input_tensor().data<float>()[0] = static_cast<float>(i);
      has_begun.push_back(began[i].get_future().share());
    }
    for (size_t i = 0; i < count; ++i)
      requests[i].set_callback([&, i](std::exception_ptr) {
        began[i].set_value();
        for (const auto& each : has_begun) each.wait();
        InferRequest& next = requests[(i + 1) % count];
        if (i == 0) return next.wait(), static_cast<void>(++ended);
        ended += next.wait_for(std::chrono::seconds(10));
      });
    for (InferRequest& request : requests) request.start_async();
    for (size_t i = 0; i < count; ++i) {
      requests[i].wait();
      EXPECT_EQ(requests[i].get_output_tensor().data<float>()[0], static_cast<float>(i));
    }
    EXPECT_EQ(ended, static_cast<int>(count)) << "none has waited in vain";
  }
}

}  // namespace
}  // namespace terroir
