#pragma once
// What: reads an IR model, versions 10 and 11: an .xml file with the topology and a .bin file with the weights.
// Shapes: types and shapes are inferred; what the file declares is checked against them.
// Aliasing: constants stay in the read-only mapping of the .bin (or in the caller's buffer) and keep it alive.
// Edge cases: whatever the bytes are, the outcome is a graph or a terroir::Exception that names file, line, layer, what
//             was expected and what was found.
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ir/graph/graph.hpp"
#include "ir/schema/registry.hpp"

namespace terroir::ir {

struct ReaderOptions {
  /// Declared types and shapes that contradict the inferred ones, and attributes that mean nothing to their operation,
  /// are an error instead of a warning.
  bool strict = false;
  /// The .bin is mapped; else read into memory, and may change afterwards.
  bool map_weights = true;
  /// Receives warnings; the log if there is none.
  std::function<void(const std::string&)> on_warning;
};

/// The .xml path with the extension .bin.
std::string weights_beside(const std::string& xml_path);

/// `bin_path` empty: weights_beside() it; it may be missing when no constant needs it.
std::unique_ptr<Graph> read_model(const std::string& xml_path, const std::string& bin_path, const OpRegistry& registry,
                                  const ReaderOptions& options = {});

/// Constants point into `weights` and keep `owner`.
std::unique_ptr<Graph> read_model_from_memory(std::string_view xml, std::shared_ptr<const void> owner,
                                              const std::byte* weights, size_t weight_bytes, const OpRegistry& registry,
                                              const ReaderOptions& options = {});

}  // namespace terroir::ir
