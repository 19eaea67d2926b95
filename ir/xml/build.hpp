#pragma once
// What: stage two of reading: records to a graph of typed operations. Resolves references, reads attributes and
// constants, builds bodies, infers types and shapes and compares them with what the file declares.
// Edge cases: layers from which neither a Result nor an Assign can be reached are dropped, Parameters are kept.
// Cost: linear in layers and edges. Nothing recurses but bodies, which nest up to kMaxBodyDepth.
#include <functional>
#include <string>

#include "ir/schema/registry.hpp"
#include "ir/xml/records.hpp"
#include "ir/xml/walk.hpp"
#include "ir/xml/weights.hpp"

namespace terroir::ir::xml {

struct BuildContext {
  const OpRegistry& registry;
  const Weights& weights;
  const Warn& warn;
  const std::string& file;
  bool strict = false;
  bool high_nibble_first = false;
};

/// The main graph of a model, without what only old versions of the format mean (legacy.hpp).
std::unique_ptr<Graph> build_graph(const GraphRecord& record, const BuildContext& context);

}  // namespace terroir::ir::xml
