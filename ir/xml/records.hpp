#pragma once
// What: an IR file as plain records, between the walk over its XML and the building of the graph. Nothing here is
// interpreted further than syntax: references are numbers, values are text. Text points into the document that
// ModelRecord::storage keeps alive.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph/graph.hpp"

namespace terroir::ir::xml {

struct PortRecord {
  int64_t id = 0;
  int32_t line = 0;
  std::string_view precision;  // empty: not given
  std::string_view names;
  std::vector<int64_t> dims;  // -1: dynamic. None: a scalar, or a tensor of unknown rank; files do not tell
  RtInfo rt_info;
};

struct EdgeRecord {
  int64_t from_layer = 0, from_port = 0, to_layer = 0, to_port = 0;
  int32_t line = 0;
};

struct PortMapRecord {
  bool is_input = false;
  int64_t external_port = -1;
  int64_t internal_layer = -1;
  std::optional<int64_t> axis;
  int64_t start = 0, end = -1, stride = 1, part_size = 1;
  std::string_view purpose;
  int32_t line = 0;
};

struct BackEdgeRecord {
  int64_t from_layer = 0, to_layer = 0;
  int32_t line = 0;
};

struct GraphRecord;

struct BodyRecord {
  std::string role;  // "body", "then_body", "else_body"
  std::unique_ptr<GraphRecord> graph;
  std::vector<PortMapRecord> ports;
  std::vector<BackEdgeRecord> back_edges;
};

struct LayerRecord {
  int64_t id = 0;
  std::string_view name, type, opset;
  std::string_view output_names;  // of a Result in newer files
  int32_t line = 0;
  std::vector<std::pair<std::string_view, std::string_view>> data;
  std::vector<PortRecord> inputs, outputs;
  RtInfo rt_info;
  std::vector<BodyRecord> bodies;
};

struct GraphRecord {
  int32_t line = 0;
  std::vector<LayerRecord> layers;
  std::vector<EdgeRecord> edges;
};

/// Legacy <pre-process>: what is subtracted from an input.
struct PreProcessRecord {
  struct Channel {
    int64_t id = 0;
    std::optional<double> mean;
    bool other = false;  // a mean image, a scale
  };
  std::string_view layer_name;
  std::vector<Channel> channels;
  int32_t line = 0;
};

struct ModelRecord {
  std::shared_ptr<const void> storage;
  std::string file;  // empty: read from memory
  std::string_view name;
  int64_t version = 0;
  GraphRecord graph;
  RtTree rt_info;
  std::vector<PreProcessRecord> pre_process;
};

/// "model.xml:12", or "line 12" for a model from memory.
inline std::string place(const std::string& file, int32_t line) {
  return file.empty() ? "line " + std::to_string(line) : file + ":" + std::to_string(line);
}

/// As Node::describe().
inline std::string describe(const LayerRecord& layer, const std::string& file) {
  return std::string(layer.type) + " '" + std::string(layer.name) + "' (layer " + std::to_string(layer.id) + ", " +
         place(file, layer.line) + ")";
}

/// Bodies inside bodies deeper than this are refused: everything that walks them is recursive.
inline constexpr int kMaxBodyDepth = 64;
/// Axes of one tensor.
inline constexpr size_t kMaxRank = 64;

}  // namespace terroir::ir::xml
