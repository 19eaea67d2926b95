#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "ops/defs/elementwise/binary.hpp"
#include "ops/defs/matrix/matmul.hpp"
#include "ops/defs/movement/gather.hpp"
#include "ops/defs/reduction/reduce.hpp"
#include "ops/defs/shape/reshape.hpp"
#include "ops/rewrites/new_nodes.hpp"
#include "ops/rewrites/rewrites.hpp"
#include "ops/rewrites/transposes.hpp"
#include "ops/shape/einsum.hpp"

namespace terroir::ops {
namespace {

using Labels = EinsumLabels;

bool has(const Labels& labels, EinsumLabel label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

Labels filtered(const Labels& labels, const auto& wanted) {
  Labels result;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(result), wanted);
  return result;
}

Labels joined(std::initializer_list<Labels> parts) {
  Labels result;
  for (const Labels& part : parts) result.insert(result.end(), part.begin(), part.end());
  return result;
}

/// A value whose axes have names, every name once and none of extent 1.
struct Operand {
  ir::Value value;
  Labels labels;
};

/// The axes of a product of matrices: a[batch, m, k] * b[batch, k, n].
struct Roles {
  Labels batch, m, k, n;
};

class Decomposition {
 public:
  Decomposition(const ir::OpRegistry& registry, const ir::Graph& graph, const ir::Node& node, ir::Patch& patch)
      : graph_(graph), node_(node), equation_(node.attrs<EinsumAttrs>().equation), new_nodes_(registry, patch, node) {}

  ir::Value run() {
    int64_t ellipsis_rank = 0;
    for (size_t i = 0; i < node_.inputs.size(); ++i)
      ellipsis_rank = std::max(ellipsis_rank, equation_.ellipsis_rank(i, static_cast<int64_t>(dims_of(i).size())));
    output_ = equation_.output_labels(ellipsis_rank);
    for (size_t i = 0; i < node_.inputs.size(); ++i) note_extents(i);
    std::vector<Operand> operands;
    for (size_t i = 0; i < node_.inputs.size(); ++i) operands.push_back(operand(i));
    while (operands.size() > 1) contract_best_pair(operands);
    const Labels wanted = filtered(output_, [&](EinsumLabel label) { return has(operands[0].labels, label); });
    const Operand result = ordered(summed(operands[0], wanted), wanted);
    return reshaped(result.value, extents(wanted), ir::to_dims(node_.outputs[0].shape.to_shape()));
  }

 private:
  ir::Dims dims_of(size_t input) const { return ir::to_dims(graph_.port(node_.inputs[input]).shape.to_shape()); }
  ir::Dims extents(const Labels& labels) const {
    ir::Dims dims;
    for (const EinsumLabel label : labels) dims.push_back(extents_.at(label));
    return dims;
  }
  int64_t elements(const Labels& labels) const { return ir::element_count(extents(labels)); }

  // ---- single values

  ir::Value reshaped(ir::Value value, const ir::Dims& now, const ir::Dims& wanted) {
    if (now == wanted) return value;
    return new_nodes_.add("Reshape", ir::make_attributes_of(ReshapeAttrs{}),
                          {value, new_nodes_.integers(wanted, "shape")}, "reshaped");
  }
  ir::Value transposed(ir::Value value, const std::vector<int64_t>& order) {
    if (is_identity(order)) return value;
    return new_nodes_.add("Transpose", nullptr, {value, new_nodes_.integers(order, "order")}, "transposed");
  }
  Operand ordered(const Operand& operand, const Labels& wanted) {
    std::vector<int64_t> order;
    for (const EinsumLabel label : wanted)
      order.push_back(std::find(operand.labels.begin(), operand.labels.end(), label) - operand.labels.begin());
    return {transposed(operand.value, order), wanted};
  }
  /// Without the axes that are not wanted: those side by side at once, as a plain sum over an inner extent.
  Operand summed(Operand operand, const Labels& wanted) {
    for (size_t end = operand.labels.size(); end > 0; --end) {
      if (has(wanted, operand.labels[end - 1])) continue;
      size_t begin = end - 1;
      while (begin > 0 && !has(wanted, operand.labels[begin - 1])) --begin;
      std::vector<int64_t> axes(end - begin);
      std::iota(axes.begin(), axes.end(), static_cast<int64_t>(begin));
      operand.value = new_nodes_.add("ReduceSum", ir::make_attributes_of(ReduceAttrs{}),
                                     {operand.value, new_nodes_.integers(axes, "axes")}, "sum");
      operand.labels.erase(operand.labels.begin() + static_cast<std::ptrdiff_t>(begin),
                           operand.labels.begin() + static_cast<std::ptrdiff_t>(end));
      end = begin + 1;
    }
    return operand;
  }

  void note_extents(size_t input) {
    const ir::Dims dims = dims_of(input);
    const Labels labels = equation_.input_labels(input, static_cast<int64_t>(dims.size()));
    for (size_t i = 0; i < labels.size(); ++i) {
      int64_t& extent = extents_.try_emplace(labels[i], 1).first->second;
      if (dims[i] != 1) extent = dims[i];
    }
  }

  /// An input without its axes of extent 1, diagonals taken.
  Operand operand(size_t input) {
    const ir::Dims dims = dims_of(input);
    const Labels all = equation_.input_labels(input, static_cast<int64_t>(dims.size()));
    Labels labels;
    for (size_t i = 0; i < all.size(); ++i)
      if (dims[i] != 1) labels.push_back(all[i]);
    Operand result{reshaped(node_.inputs[input], dims, extents(labels)), labels};
    for (size_t i = 0; i < result.labels.size(); ++i)
      while (std::count(result.labels.begin(), result.labels.end(), result.labels[i]) > 1) {
        result = diagonal(result, result.labels[i]);
        i = 0;
      }
    return result;
  }

  /// The first two axes of that name become one, the last: every (n + 1)-th element of the n * n ones.
  Operand diagonal(const Operand& operand, EinsumLabel label) {
    std::vector<int64_t> order, taken;
    Labels labels;
    for (size_t i = 0; i < operand.labels.size(); ++i) {
      if (operand.labels[i] == label && taken.size() < 2) {
        taken.push_back(static_cast<int64_t>(i));
      } else {
        order.push_back(static_cast<int64_t>(i));
        labels.push_back(operand.labels[i]);
      }
    }
    order.insert(order.end(), taken.begin(), taken.end());
    const int64_t n = extents_.at(label);
    ir::Dims pairs = extents(labels), square = pairs;
    square.insert(square.end(), {n, n});
    pairs.push_back(n * n);
    std::vector<int64_t> indices(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) indices[static_cast<size_t>(i)] = i * (n + 1);
    const ir::Value flat = reshaped(transposed(operand.value, order), square, pairs);
    const ir::Value value = new_nodes_.add("Gather", ir::make_attributes_of(GatherAttrs{}),
                                           {flat, new_nodes_.integers(indices, "diagonal"),
                                            new_nodes_.integers({static_cast<int64_t>(labels.size())}, "axis")},
                                           "diagonal");
    labels.push_back(label);
    return {value, labels};
  }

  // ---- pairs

  /// Axes of a pair that are still needed behind it.
  Labels needed(const std::vector<Operand>& operands, size_t a, size_t b) const {
    Labels result = output_;
    for (size_t i = 0; i < operands.size(); ++i)
      if (i != a && i != b) result = joined({result, operands[i].labels});
    return result;
  }

  void contract_best_pair(std::vector<Operand>& operands) {
    size_t best_a = 0, best_b = 1;
    int64_t least = -1;
    for (size_t a = 0; a < operands.size(); ++a)
      for (size_t b = a + 1; b < operands.size(); ++b) {
        const Labels keep = needed(operands, a, b);
        std::set<EinsumLabel> result;
        for (const EinsumLabel label : joined({operands[a].labels, operands[b].labels}))
          if (has(keep, label)) result.insert(label);
        const int64_t size = elements(Labels(result.begin(), result.end()));
        if (least < 0 || size < least) {
          least = size;
          best_a = a;
          best_b = b;
        }
      }
    const Labels keep = needed(operands, best_a, best_b);
    operands[best_a] = product(operands[best_a], operands[best_b], keep, operands.size() == 2 ? "" : "product");
    operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(best_b));
  }

  Operand product(Operand a, Operand b, const Labels& keep, const char* suffix) {
    a = summed(a, joined({keep, b.labels}));
    b = summed(b, joined({keep, a.labels}));
    const auto shared = filtered(a.labels, [&](EinsumLabel label) { return has(b.labels, label); });
    const auto summed_over = filtered(shared, [&](EinsumLabel label) { return !has(keep, label); });
    if (summed_over.empty() || (shared.size() == a.labels.size() && shared.size() == b.labels.size()))
      return summed(multiplied(a, b, keep, suffix), keep);
    return matrix_product(a, b, keep, suffix);
  }

  /// Element by element, broadcast.
  Operand multiplied(const Operand& a, const Operand& b, const Labels& keep, const char* suffix) {
    Labels labels = filtered(keep, [&](EinsumLabel label) { return has(a.labels, label) || has(b.labels, label); });
    labels = joined({unique(labels), filtered(a.labels, [&](EinsumLabel label) { return !has(keep, label); })});
    const auto aligned = [&](const Operand& operand) {
      const Labels own = filtered(labels, [&](EinsumLabel label) { return has(operand.labels, label); });
      ir::Dims dims;
      for (const EinsumLabel label : labels) dims.push_back(has(own, label) ? extents_.at(label) : 1);
      return reshaped(ordered(operand, own).value, extents(own), dims);
    };
    return {new_nodes_.add("Multiply", ir::make_attributes_of(BinaryAttrs{}), {aligned(a), aligned(b)}, suffix),
            labels};
  }

  static Labels unique(const Labels& labels) {
    Labels result;
    for (const EinsumLabel label : labels)
      if (!has(result, label)) result.push_back(label);
    return result;
  }

  Roles roles_of(const Labels& a, const Labels& b, const Labels& keep, const Labels& order) const {
    Roles roles;
    for (const EinsumLabel label : order)
      if (has(a, label) && has(b, label)) (has(keep, label) ? roles.batch : roles.k).push_back(label);
    roles.m = filtered(a, [&](EinsumLabel label) { return !has(b, label); });
    roles.n = filtered(b, [&](EinsumLabel label) { return !has(a, label); });
    return roles;
  }

  /// Elements that have to be transposed when the shared axes take that order.
  int64_t cost(const Labels& a, const Labels& b, const Roles& r) const {
    int64_t moved = 0;
    if (a != joined({r.batch, r.m, r.k}) && a != joined({r.batch, r.k, r.m})) moved += elements(a);
    if (b != joined({r.batch, r.k, r.n}) && b != joined({r.batch, r.n, r.k})) moved += elements(b);
    const Labels result = joined({r.batch, r.m, r.n});
    if (result != filtered(output_, [&](EinsumLabel label) { return has(result, label); })) moved += elements(result);
    return moved;
  }

  Operand matrix_product(Operand a, Operand b, const Labels& keep, const char* suffix) {
    Roles roles = roles_of(a.labels, b.labels, keep, a.labels);
    int64_t least = cost(a.labels, b.labels, roles);
    bool swapped = false;
    for (const bool swap : {false, true})
      for (const Labels* order : {&a.labels, &b.labels}) {
        const Roles other =
            swap ? roles_of(b.labels, a.labels, keep, *order) : roles_of(a.labels, b.labels, keep, *order);
        const int64_t moved = swap ? cost(b.labels, a.labels, other) : cost(a.labels, b.labels, other);
        // A single row is multiplied by a matrix, not a matrix by a column.
        const bool is_better = other.n.empty() != roles.n.empty() ? roles.n.empty() : moved < least;
        if (!is_better) continue;
        roles = other;
        least = moved;
        swapped = swap;
      }
    if (swapped) std::swap(a, b);
    MatMulAttrs attrs;
    // Where an operand has to be put in order, its last axis stays where it is: rows are moved, not numbers.
    const auto is = [](const Operand& operand, const Labels& transposed, const Labels& plain, const Labels& last) {
      return operand.labels == transposed ||
             (operand.labels != plain && !last.empty() && operand.labels.back() == last.back());
    };
    const auto& [batch, m, k, n] = roles;
    attrs.transpose_a = !m.empty() && is(a, joined({batch, k, m}), joined({batch, m, k}), m);
    attrs.transpose_b = is(b, joined({batch, n, k}), joined({batch, k, n}), k);
    const ir::Value left =
        matrices(a, roles.batch, attrs.transpose_a ? roles.k : roles.m, attrs.transpose_a ? roles.m : roles.k);
    const ir::Value right =
        matrices(b, roles.batch, attrs.transpose_b ? roles.n : roles.k, attrs.transpose_b ? roles.k : roles.n);
    const Labels labels = joined({roles.batch, roles.m, roles.n});
    ir::Dims dims = extents(roles.batch);
    dims.insert(dims.end(), {elements(roles.m), elements(roles.n)});
    const ir::Value value = new_nodes_.add("MatMul", ir::make_attributes_of(attrs), {left, right}, suffix);
    return {reshaped(value, dims, extents(labels)), labels};
  }

  ir::Value matrices(const Operand& operand, const Labels& batch, const Labels& rows, const Labels& columns) {
    const Labels labels = joined({batch, rows, columns});
    ir::Dims dims = extents(batch);
    dims.insert(dims.end(), {elements(rows), elements(columns)});
    return reshaped(ordered(operand, labels).value, extents(labels), dims);
  }

  const ir::Graph& graph_;
  const ir::Node& node_;
  EinsumEquation equation_;
  NewNodes new_nodes_;
  Labels output_;
  std::map<EinsumLabel, int64_t> extents_;
};

bool can_be_decomposed(const ir::Graph& graph, const ir::Node& node) {
  if (!node.is("Einsum") || node.outputs[0].shape.is_dynamic()) return false;
  const element::Type type = node.outputs[0].type;
  if (type != element::f32 && !(type.is_integral_number() && type.bitwidth() >= 8)) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ir::Value input) {
    const PartialShape& shape = graph.port(input).shape;
    return shape.is_static() && shape_size(shape.to_shape()) > 0;
  });
}

}  // namespace

ir::Pass decompose_einsum(const ir::OpRegistry& registry) {
  return {"decompose_einsum", [&](const ir::Graph& graph, ir::Patch& patch) {
            for (const ir::NodeId id : graph.nodes()) {
              const ir::Node& node = graph.node(id);
              if (can_be_decomposed(graph, node))
                patch.replace({id, 0}, Decomposition(registry, graph, node, patch).run());
            }
          }};
}

}  // namespace terroir::ops
