#pragma once
// What: compiled models as archives, whatever the device: what it stores itself, or the graph to be compiled again.
// Edge cases: a model is loaded for the device and the kind of machine that it was compiled for, else Exception
// (unsupported) that says what differs. Settings that decide how it is compiled are those that it was compiled with;
// threads, streams and the like are those of now.
#include <filesystem>
#include <memory>

#include "runtime/plugin/archive.hpp"
#include "runtime/plugin/plugin.hpp"

namespace terroir::plugin {

void store_compiled(const CompiledGraph& compiled, ArchiveWriter& archive);
std::shared_ptr<const CompiledGraph> load_compiled(const Plugin& plugin, Archive& archive, const Config& config,
                                                   const ir::OpRegistry& operations);

/// Name and ports, for devices that store compiled forms.
struct StoredFace {
  std::string name;
  std::vector<PortInfo> inputs, outputs;
};
void store_face(const CompiledGraph& compiled, ByteWriter& to);
StoredFace load_face(ByteReader& from);

/// A graph whose constants are pieces of the archive.
void store_graph(const ir::Graph& graph, ArchiveWriter& archive);
std::unique_ptr<ir::Graph> load_graph(Archive& archive, const ir::OpRegistry& operations);

/// The same, but constants that were mapped from the file `weights` are said by their place in it, and are mapped from
/// the file `weights` then. The caller knows that it says the same. Exception (parse_error) if it is too short.
void store_weightless(const ir::Graph& graph, const std::filesystem::path& weights, ArchiveWriter& archive);
std::unique_ptr<ir::Graph> load_weightless(Archive& archive, const std::filesystem::path& weights,
                                           const ir::OpRegistry& operations);

}  // namespace terroir::plugin
