#include "check_extension/device_trial.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <terroir/ops.hpp>
#include <thread>

namespace check {
namespace {

using terroir::Model;
using terroir::OutputVector;
using terroir::ParameterVector;
using terroir::PartialShape;
using terroir::Shape;
using terroir::Tensor;
namespace element = terroir::element;
namespace op = terroir::op;

constexpr double kTolerance = 1e-3;  // of the largest value of an output
constexpr size_t kRequests = 4, kRounds = 3;

std::shared_ptr<op::v0::Parameter> input(const element::Type& type, const PartialShape& shape) {
  return std::make_shared<op::v0::Parameter>(type, shape);
}

std::shared_ptr<Model> of_one_function() {
  const auto x = input(element::f32, {2, 3});
  return std::make_shared<Model>(OutputVector{std::make_shared<op::v0::Relu>(x)}, ParameterVector{x});
}

std::shared_ptr<Model> of_a_network() {
  const auto x = input(element::f32, {1, 3, 9, 7});
  std::vector<float> weights(5 * 3 * 3 * 3);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 7) * 0.25f - 0.75f;
  const auto convolution = std::make_shared<op::v1::Convolution>(
      x, op::v0::Constant::create(element::f32, Shape{5, 3, 3, 3}, weights), terroir::Strides{1, 1},
      terroir::CoordinateDiff{1, 1}, terroir::CoordinateDiff{1, 1}, terroir::Strides{1, 1});
  const auto bias = op::v0::Constant::create(element::f32, Shape{1, 5, 1, 1}, {0.5f, -0.5f, 0.f, 1.f, -1.f});
  const auto relu = std::make_shared<op::v0::Relu>(std::make_shared<op::v1::Add>(convolution, bias));
  const auto axes = op::v0::Constant::create(element::i64, Shape{2}, {2, 3});
  const auto mean = std::make_shared<op::v1::ReduceMean>(relu, axes, false);
  return std::make_shared<Model>(OutputVector{std::make_shared<op::v1::Softmax>(mean, 1)}, ParameterVector{x});
}

std::shared_ptr<Model> of_several_ends() {
  const auto x = input(element::f32, {17}), y = input(element::f32, {17});
  return std::make_shared<Model>(
      OutputVector{std::make_shared<op::v1::Add>(x, y), std::make_shared<op::v1::Multiply>(x, y)},
      ParameterVector{x, y});
}

std::shared_ptr<Model> of_integers() {
  const auto x = input(element::i64, {3, 5}), y = input(element::i64, {5});
  return std::make_shared<Model>(OutputVector{std::make_shared<op::v1::Add>(x, y)}, ParameterVector{x, y});
}

std::shared_ptr<Model> of_unknown_extents() {
  const auto x = input(element::f32, {-1, 4});
  return std::make_shared<Model>(OutputVector{std::make_shared<op::v0::Abs>(x)}, ParameterVector{x});
}

std::shared_ptr<Model> of_sizes_that_depend_on_data() {
  const auto x = input(element::f32, {11});
  return std::make_shared<Model>(OutputVector{std::make_shared<op::v3::NonZero>(x)}, ParameterVector{x});
}

struct ModelOnTrial {
  const char* name;
  std::shared_ptr<Model> (*make)();
};
constexpr ModelOnTrial kModelsOnTrial[] = {{"one function", of_one_function},
                                           {"a convolution network", of_a_network},
                                           {"two inputs and two outputs", of_several_ends},
                                           {"integers", of_integers},
                                           {"unknown extents", of_unknown_extents},
                                           {"sizes that depend on data", of_sizes_that_depend_on_data}};

std::vector<Tensor> some_inputs(const Model& model, size_t rows, Random& random) {
  std::vector<Tensor> tensors;
  for (const auto& port : model.inputs()) {
    Shape shape;
    for (const terroir::Dimension& extent : port.get_partial_shape())
      shape.push_back(extent.is_static() ? static_cast<size_t>(extent.get_length()) : rows);
    const Tensor& made = tensors.emplace_back(port.get_element_type(), shape);
    for (size_t i = 0; i < made.get_size(); ++i) {
      const int64_t value = between(random, -8, 8);
      if (made.get_element_type() == element::f32) made.data<float>()[i] = static_cast<float>(value) * 0.25f;
      if (made.get_element_type() == element::i64) made.data<int64_t>()[i] = value;
    }
  }
  return tensors;
}

/// Whether each number is one that rounding explains.
bool alike(const Tensor& got, const Tensor& expected) {
  if (got.get_shape() != expected.get_shape() || got.get_element_type() != expected.get_element_type()) return false;
  if (got.get_element_type() != element::f32)
    return got.get_byte_size() == 0 || std::memcmp(got.data(), expected.data(), got.get_byte_size()) == 0;
  const auto *a = got.data<float>(), *b = expected.data<float>();
  const float largest = std::accumulate(b, b + expected.get_size(), 0.f,
                                        [](float most, float value) { return std::max(most, std::fabs(value)); });
  return std::equal(a, a + got.get_size(), b,
                    [&](float x, float y) { return std::fabs(static_cast<double>(x) - y) <= kTolerance * largest; });
}

/// The outputs, in memory of this program where their sizes are known, which nothing may write around.
std::vector<Tensor> outputs_of(terroir::InferRequest request, const Model& model, const std::vector<Tensor>& inputs,
                               const std::function<void(const char*)>& fault) {
  for (size_t i = 0; i < inputs.size(); ++i) request.set_input_tensor(i, inputs[i]);
  std::vector<std::unique_ptr<Guarded>> guarded;
  for (size_t i = 0; i < model.outputs().size(); ++i) {
    const auto port = model.output(i);
    if (port.get_partial_shape().is_dynamic()) continue;
    guarded.push_back(std::make_unique<Guarded>(port.get_element_type(), port.get_shape(), 0xFF));
    request.set_output_tensor(i, guarded.back()->tensor());
  }
  request.infer();
  for (const auto& output : guarded)
    if (!output->intact()) fault("writes outside of an output");
  std::vector<Tensor> copies;
  for (size_t i = 0; i < model.outputs().size(); ++i) {
    const Tensor output = request.get_output_tensor(i);
    output.copy_to(copies.emplace_back(output.get_element_type(), output.get_shape()));
  }
  return copies;
}

bool all_alike(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  return got.size() == expected.size() && std::equal(got.begin(), got.end(), expected.begin(), alike);
}

void compare_runs(terroir::Core& core, const std::string& device, const std::shared_ptr<Model>& model, size_t rows,
                  Random& random, const std::function<void(const char*)>& fault) {
  const std::vector<Tensor> inputs = some_inputs(*model, rows, random);
  const std::vector<Tensor> expected =
      outputs_of(core.compile_model(model, "INTERPRETER").create_infer_request(), *model, inputs, fault);
  terroir::CompiledModel compiled = core.compile_model(model, device, terroir::num_streams(2));
  terroir::InferRequest request = compiled.create_infer_request();
  for (size_t round = 0; round < kRounds; ++round) {
    if (all_alike(outputs_of(request, *model, inputs, fault), expected)) continue;
    fault(round == 0 ? "computes something else than the reference" : "gives other results the second time");
    return;
  }
  // Its functions may be called from several threads at once.
  std::vector<std::string> faults(kRequests);
  std::vector<std::thread> threads;
  for (std::string& found : faults) {
    threads.emplace_back([&] {
      const auto note = [&](const char* what) { found = what; };
      try {
        terroir::InferRequest own = compiled.create_infer_request();
        for (size_t round = 0; round < kRounds; ++round)
          if (!all_alike(outputs_of(own, *model, inputs, note), expected))
            found = "gives other results when several requests run at once";
      } catch (const std::exception& error) {
        found = std::string("fails when several requests run at once: ") + error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& found : faults)
    if (!found.empty()) fault(found.c_str());
}

/// Empty: the device says that it runs every layer.
std::string first_refused(const terroir::SupportedOpsMap& runs, const Model& model) {
  for (const auto& layer : model.get_ordered_ops())
    if (runs.count(layer->get_friendly_name()) == 0) return layer->get_type_name();
  return {};
}

}  // namespace

void run_device_trials(terroir::Core& core, const std::string& device, uint64_t seed, Findings& findings) {
  Random random(seed);
  for (const ModelOnTrial& subject : kModelsOnTrial) {
    const auto fault = [&](const char* what) { findings.add_fault(what, subject.name); };
    try {
      const std::shared_ptr<Model> model = subject.make();
      if (const std::string type = first_refused(core.query_model(model, device), *model); !type.empty()) {
        ++findings.refusals["it does not run " + type];
        continue;
      }
      const bool unknown = model->input(0).get_partial_shape().is_dynamic();
      for (const size_t rows : unknown ? std::vector<size_t>{1, 5, 0} : std::vector<size_t>{1})
        compare_runs(core, device, model, rows, random, fault);
      ++findings.run;
      findings.dynamic += unknown;
    } catch (const std::exception& failure) {
      findings.add_fault(std::string("fails with layers that it says it runs: ") + failure.what(), subject.name);
    }
  }
  for (const terroir::PropertyName& property : core.get_property(device, terroir::supported_properties)) {
    try {
      static_cast<void>(core.get_property(device, property).as<std::string>());
    } catch (const std::exception& failure) {
      findings.add_fault("lists a property that cannot be read: " + property, failure.what());
    }
  }
}

}  // namespace check
