#include <algorithm>
#include <cstring>

#include "ir/base/aligned_buffer.hpp"
#include "ops/defs/movement/scatter.hpp"
#include "ops/defs/shape/reshape.hpp"
#include "ops/rewrites/new_nodes.hpp"
#include "ops/rewrites/rewrites.hpp"

namespace terroir::ops {
namespace {

using reference::ScatterReduction;

constexpr int64_t kShortest = 16;  // shorter rows are not worth a step each

/// The first of each row, where all of a row are the same; null elsewhere.
std::shared_ptr<AlignedBuffer> first_column(const ir::TensorView& view, int64_t rows) {
  const size_t bytes = view.type.size(), row = view.bytes() / static_cast<size_t>(rows);
  const auto* from = static_cast<const char*>(view.data);
  for (int64_t i = 0; i < rows; ++i, from += row)
    if (std::memcmp(from, from + bytes, row - bytes) != 0) return nullptr;
  auto column = std::make_shared<AlignedBuffer>(static_cast<size_t>(rows) * bytes);
  from = static_cast<const char*>(view.data);
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(column->as<char>() + static_cast<size_t>(i) * bytes, from + static_cast<size_t>(i) * row, bytes);
  return column;
}

struct WholeRows {
  ScatterNdAttrs attrs;
  std::shared_ptr<AlignedBuffer> column;  // else:
  ir::Value indices;                      // that many elements, in some shape
};

bool is_of_whole_rows(const ir::Graph& graph, const ir::Node& node, WholeRows& rows) {
  if (!node.is("ScatterElementsUpdate")) return false;
  if (node.schema->opset != "opset3") {
    const auto& attrs = node.attrs<ScatterElementsAttrs>();
    rows.attrs.reduction = attrs.reduction;
    if (attrs.reduction == ScatterReduction::mean || (attrs.reduction != ScatterReduction::none && !attrs.use_init_val))
      return false;
  }
  const PartialShape &data = graph.port(node.inputs[0]).shape, &indices = graph.port(node.inputs[1]).shape;
  if (data.is_dynamic() || indices.is_dynamic() || data.size() < 2) return false;
  const ir::Dims whole = ir::to_dims(data.to_shape()), dims = ir::to_dims(indices.to_shape());
  const auto axis = ir::constant_integers(graph, node.inputs[3]);
  if (!axis || ((*axis)[0] != 0 && (*axis)[0] != -static_cast<int64_t>(dims.size()))) return false;
  if (!std::equal(dims.begin() + 1, dims.end(), whole.begin() + 1) || dims[0] == 0 ||
      ir::element_count(dims, 1, dims.size()) < kShortest)
    return false;
  if (const ir::Constant* constant = ir::constant_of(graph, node.inputs[1])) {
    if (constant->view.type.bitwidth() < 8) return false;
    rows.column = first_column(constant->view, dims[0]);
    return rows.column != nullptr;
  }
  // Aligned at the last axis, a column can only be repeated along the others.
  const ir::Node& repeated = graph.node(node.inputs[1].node);
  if (!repeated.is("Broadcast") && !repeated.is("Tile")) return false;
  if (repeated.inputs.size() > 2) return false;  // axes of a mapping
  rows.indices = repeated.inputs[0];
  const PartialShape& column = graph.port(rows.indices).shape;
  if (column.is_dynamic() || column.size() != dims.size() || column[0] != dims[0]) return false;
  return ir::element_count(ir::to_dims(column.to_shape())) == dims[0];
}

}  // namespace

ir::Pass scatter_whole_rows(const ir::OpRegistry& registry) {
  return {"scatter_whole_rows", [&](const ir::Graph& graph, ir::Patch& patch) {
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              WholeRows rows;
              if (!is_of_whole_rows(graph, node, rows)) continue;
              NewNodes nodes(registry, patch, node);
              const PartialShape& shape = graph.port(node.inputs[1]).shape;
              ir::Value indices = rows.indices;
              if (rows.column)
                indices = nodes.constant(
                    {{graph.port(node.inputs[1]).type, {shape[0].get_length(), 1}, rows.column->data()}, rows.column},
                    "indices");
              else if (shape.size() > 2)
                indices = nodes.add("Reshape", ir::make_attributes_of(ReshapeAttrs{}),
                                    {indices, nodes.integers({shape[0].get_length(), 1}, "column")}, "indices");
              patch.replace({id, 0},
                            patch.add(registry.get("ScatterNDUpdate", "opset15"), ir::make_attributes_of(rows.attrs),
                                      {node.inputs[0], indices, node.inputs[2]}, {id}));
            }
          }};
}

}  // namespace terroir::ops
