#include "tests/conformance/open_order.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "ir/base/error.hpp"
#include "ops/defs/sort/topk.hpp"
#include "tests/support/elements.hpp"

namespace terroir::test {
namespace {

const ops::TopKAttrs& attributes_of(const ir::Node& node) {
  if (node.schema->opset == "opset11") return node.attrs<ops::TopK11Attrs>();
  return node.attrs<ops::TopKAttrs>();
}

}  // namespace

std::vector<OpenOrder> open_orders(const ir::Graph& graph) {
  std::vector<OpenOrder> open;
  std::map<ir::Value, size_t> results;
  for (size_t i = 0; i < graph.results().size(); ++i) results[graph.node(graph.results()[i]).inputs[0]] = i;
  for (const ir::NodeId id : graph.nodes()) {
    const ir::Node& node = graph.node(id);
    if (!node.is("TopK") || !results.contains({id, 0}) || !results.contains({id, 1})) continue;
    if (graph.parameters().empty() || node.inputs[0] != ir::Value{graph.parameters()[0], 0}) continue;
    if (node.schema->opset == "opset11" && node.attrs<ops::TopK11Attrs>().stable) continue;
    open.push_back({&node, results[{id, 0}], results[{id, 1}]});
  }
  if (2 * open.size() != graph.results().size()) open.clear();
  return open;
}

std::string top_k_difference(const OpenOrder& open, const HostTensor& data, std::span<const HostTensor> expected,
                             std::span<const HostTensor> actual) {
  const ops::TopKAttrs& attrs = attributes_of(*open.node);
  const ir::Dims &dims = data.dims(), &found = actual[open.values].dims();
  if (expected[open.values].view().count() != actual[open.values].view().count() ||
      actual[open.indices].dims() != found)
    return concat("shapes ", found, " and ", actual[open.indices].dims(), ", expected ", expected[open.values].dims());
  const auto rank = static_cast<int64_t>(dims.size());
  const auto axis = static_cast<size_t>(attrs.axis < 0 ? attrs.axis + rank : attrs.axis);
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < axis; ++i) outer *= dims[i];
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  const int64_t extent = dims[axis], k = found[axis];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      std::vector<long double> wanted, got;
      std::vector<int64_t> taken;
      for (int64_t j = 0; j < k; ++j) {
        const int64_t at = (o * k + j) * inner + i;
        const auto index = static_cast<int64_t>(element_at(actual[open.indices].view(), at));
        wanted.push_back(element_at(expected[open.values].view(), at));
        got.push_back(element_at(actual[open.values].view(), at));
        if (index < 0 || index >= extent) return concat("index ", index, " at ", at, " is out of range");
        const long double element = element_at(data.view(), (o * extent + index) * inner + i);
        if (element != got.back())
          return concat("index ", index, " at ", at, " is that of ", element, ", but the value is ", got.back());
        taken.push_back(index);
      }
      if (attrs.sort == ops::TopKSort::index && !std::is_sorted(taken.begin(), taken.end()))
        return concat("slice ", o * inner + i, " is not in the order of the indices");
      if (attrs.sort != ops::TopKSort::value) {
        std::sort(wanted.begin(), wanted.end());
        std::sort(got.begin(), got.end());
      }
      if (wanted != got) return concat("slice ", o * inner + i, " has other values than expected");
      std::sort(taken.begin(), taken.end());
      if (std::adjacent_find(taken.begin(), taken.end()) != taken.end())
        return concat("slice ", o * inner + i, " has an element twice");
    }
  return {};
}

}  // namespace terroir::test
