#include "common/report.hpp"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace samples {

std::ostream& info() { return std::cout << "[ INFO ] "; }
std::ostream& warning() { return std::cout << "[ WARNING ] "; }

std::string text(const terroir::Output<const terroir::Node>& port) {
  return port.get_element_type().to_string() + port.get_partial_shape().to_string();
}

std::string name(const terroir::Output<const terroir::Node>& port) {
  return port.get_names().empty() ? port.get_node()->get_friendly_name() : port.get_any_name();
}

void print_model(const terroir::Model& model) {
  info() << "model name: " << model.get_friendly_name() << '\n';
  for (const auto& port : model.inputs()) info() << "    input  " << name(port) << " : " << text(port) << '\n';
  for (const auto& port : model.outputs()) info() << "    output " << name(port) << " : " << text(port) << '\n';
}

namespace {

std::vector<float> values(const terroir::Tensor& tensor) {
  if (tensor.get_element_type() == terroir::element::f32) {
    return {tensor.data<float>(), tensor.data<float>() + tensor.get_size()};
  }
  if (tensor.get_element_type() == terroir::element::f16) {
    const auto* halves = tensor.data<terroir::float16>();
    return {halves, halves + tensor.get_size()};
  }
  throw std::runtime_error("the model's output is of type " + tensor.get_element_type().to_string() +
                           "; scores are f32 or f16");
}

}  // namespace

void print_top_results(const terroir::Tensor& scores, size_t count, const std::string& title) {
  const terroir::Shape& shape = scores.get_shape();
  const bool is_table = shape.size() >= 2 &&
                        std::count_if(shape.begin() + 1, shape.end(), [](size_t extent) { return extent != 1; }) <= 1;
  if (!is_table || scores.get_size() == 0) {
    throw std::runtime_error("the model's output " + shape.to_string() + " is no table of scores [N, classes]");
  }
  const std::vector<float> all = values(scores);
  const size_t classes = scores.get_size() / shape[0];
  count = std::min(count, classes);
  std::cout << "\nTop " << count << " results:\n";
  for (size_t n = 0; n < shape[0]; ++n) {
    const float* row = all.data() + n * classes;
    std::vector<size_t> order(classes);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [row](size_t a, size_t b) { return row[a] > row[b]; });
    std::cout << '\n' << title << (shape[0] > 1 ? ", batch " + std::to_string(n) : "") << "\n\n";
    std::cout << "classid probability\n------- -----------\n";
    for (size_t i = 0; i < count; ++i) {
      std::cout << std::left << std::setw(8) << order[i] << std::fixed << std::setprecision(7) << row[order[i]] << '\n';
    }
  }
  std::cout << std::endl;
}

}  // namespace samples
