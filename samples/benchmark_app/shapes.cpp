#include "benchmark_app/shapes.hpp"

#include <algorithm>
#include <stdexcept>

#include "common/report.hpp"

using terroir::PartialShape;

std::map<std::string, PartialShape> parse_shapes(const std::string& text) {
  std::map<std::string, PartialShape> shapes;
  for (size_t at = 0; at < text.size();) {
    const size_t open = text.find('[', at);
    const size_t close = open == std::string::npos ? open : text.find(']', open);
    const bool more = close != std::string::npos && close + 1 < text.size();
    if (close == std::string::npos || (more && (text[close + 1] != ',' || close + 2 == text.size()))) {
      throw std::runtime_error("'" + text + "' is no list of shapes such as [1,3,224,224] or data[1,3,?,?],mask[1,10]");
    }
    const std::string input = text.substr(at, open - at);
    const PartialShape shape(text.substr(open, close - open + 1));
    if (!shapes.emplace(input, shape).second) {
      throw std::runtime_error("'" + text + "' gives two shapes to " +
                               (input.empty() ? "all inputs" : "the input '" + input + "'"));
    }
    at = close + (more ? 2 : 1);
  }
  return shapes;
}

namespace {
bool is_called(const terroir::Output<const terroir::Node>& port, const std::string& input) {
  return port.get_names().count(input) != 0 || port.get_node()->get_friendly_name() == input;
}
}  // namespace

PartialShape shape_for(const terroir::Output<const terroir::Node>& port,
                       const std::map<std::string, PartialShape>& shapes) {
  for (const auto& [input, shape] : shapes) {
    if (!input.empty() && is_called(port, input)) return shape;
  }
  const auto all = shapes.find("");
  return all != shapes.end() ? all->second : port.get_partial_shape();
}

void check_names(const terroir::Model& model, const std::map<std::string, PartialShape>& shapes) {
  const auto inputs = model.inputs();
  for (const auto& entry : shapes) {
    const std::string& input = entry.first;
    if (input.empty() ||
        std::any_of(inputs.begin(), inputs.end(), [&](const auto& port) { return is_called(port, input); }))
      continue;
    std::string known;
    for (const auto& port : inputs) known += (known.empty() ? "" : ", ") + samples::name(port);
    throw std::runtime_error("the model has no input '" + input + "'; its inputs are " + known);
  }
}

int64_t batch_axis(const terroir::Output<const terroir::Node>& port) {
  const terroir::Layout layout = terroir::layout::get_layout(port);
  if (terroir::layout::has_batch(layout)) return terroir::layout::batch_idx(layout);
  const terroir::Rank rank = port.get_partial_shape().rank();
  return layout.empty() && rank.is_static() && rank.get_length() >= 2 ? 0 : -1;
}
