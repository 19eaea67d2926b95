#include "runtime/plugin/model_cache.hpp"

#include "ir/base/build_id.hpp"
#include "ir/base/error.hpp"
#include "ir/base/log.hpp"
#include "ir/base/mapped_file.hpp"
#include "ir/base/pending_file.hpp"
#include "ir/stored/graph.hpp"
#include "ops/registry.hpp"
#include "runtime/plugin/stored_model.hpp"

namespace terroir::plugin {

ModelCache::ModelCache(const std::string& folder, const Hash128& model, const std::string& settings)
    : file_(std::filesystem::path(folder) /
            (hash128(concat(model.text(), ' ', build_id(), ' ', settings)).text() + ".terroir")) {}

std::shared_ptr<const CompiledGraph> ModelCache::find(const Plugin& plugin, const Config& config,
                                                      const ir::OpRegistry& operations,
                                                      const parallel::Arena& arena) const {
  std::error_code unknown;
  if (!std::filesystem::exists(file_, unknown)) return nullptr;
  try {
    const auto file = MappedFile::open(file_);
    Archive archive(file, file->data(), file->size(), arena);
    return load_compiled(plugin, archive, config, operations);
  } catch (const std::exception& error) {
    TERROIR_LOG(warning, "the cached model '", file_.string(),
                "' is not used, the model is compiled anew: ", error.what());
    return nullptr;
  }
}

void ModelCache::keep(const CompiledGraph& compiled, const parallel::Arena& arena) const {
  try {
    ArchiveWriter archive;
    store_compiled(compiled, archive);
    std::filesystem::create_directories(file_.parent_path());
    PendingFile file(file_);
    archive.write([&file](const void* data, size_t bytes) { file.write(data, bytes); }, arena);
    file.close();
    file.rename();
  } catch (const std::exception& error) {
    TERROIR_LOG(warning, "the compiled model is not cached: ", error.what());
  }
}

Hash128 hash_of_files(const std::string& xml, const std::string& bin, const parallel::Arena& arena) {
  const MappedFile text(xml);
  std::shared_ptr<const MappedFile> weights;
  std::error_code unknown;
  if (std::filesystem::exists(bin, unknown)) weights = MappedFile::open(bin);
  const Piece pieces[] = {{text.data(), text.size()},
                          {weights ? weights->data() : nullptr, weights ? weights->size() : 0}};
  const std::vector<Hash128> hashes = hash_pieces(pieces, arena);
  return hash128(hashes.data(), hashes.size() * sizeof(Hash128), weights ? 1 : 0);
}

Hash128 hash_of_graph(const ir::Graph& graph, const parallel::Arena& arena) {
  ArchiveWriter model;
  const auto constant = [&model](const ir::Constant& value, ByteWriter& to) { model.store_constant(value, to); };
  ir::store_graph(graph, ir::NodeCodec(ops::builtin_registry()), constant, model.content(), ir::Origins::left_out);
  return model.hash(arena);
}

}  // namespace terroir::plugin
