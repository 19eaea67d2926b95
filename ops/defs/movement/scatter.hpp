#pragma once
// What: ScatterUpdate, ScatterElementsUpdate, ScatterNDUpdate: a copy of data with updates at the places indices name.
// Shapes: the output is as data. ScatterUpdate (data, indices, updates, axis): updates are data[:axis] + indices.shape
// + data[axis+1:]; others are refused where the axis is known before the run, and else mean what scatter_misfit.hpp
// says. ScatterElementsUpdate (the same inputs): indices and updates have one shape, of data's rank. ScatterNDUpdate
// (data, indices, updates): updates are indices[:-1] + data[indices[-1]:]. Edge cases: negative indices count from the
// end (but ScatterUpdate takes none); an index out of range is an error at run time; updates of one place are applied
// in their order. An integer mean is rounded down. Source: operation pages ScatterUpdate-3, ScatterElementsUpdate-3 and
// -12, ScatterNDUpdate-4 and -15.
#include "ir/schema/attributes.hpp"
#include "ops/reference/movement/scatter.hpp"

namespace terroir::ops {

/// ScatterElementsUpdate-12.
struct ScatterElementsAttrs {
  reference::ScatterReduction reduction = reference::ScatterReduction::none;
  bool use_init_val = true;

  template <class V>
  void visit(V& v) {
    v("reduction", reduction);
    v("use_init_val", use_init_val);
  }
};

/// ScatterNDUpdate-15.
struct ScatterNdAttrs {
  reference::ScatterReduction reduction = reference::ScatterReduction::none;

  template <class V>
  void visit(V& v) {
    v("reduction", reduction);
  }
};

}  // namespace terroir::ops

template <>
struct terroir::ir::EnumSpellings<terroir::ops::reference::ScatterReduction> {
  static constexpr std::string_view names[] = {"none", "sum", "prod", "min", "max", "mean", "sub"};
};
