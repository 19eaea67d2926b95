#include "runtime/plugin/model_cache.hpp"

#include <map>

#include "ir/base/build_id.hpp"
#include "ir/base/error.hpp"
#include "ir/base/log.hpp"
#include "ir/base/mapped_file.hpp"
#include "ir/base/pending_file.hpp"
#include "ir/stored/graph.hpp"
#include "ops/registry.hpp"
#include "runtime/plugin/stored_model.hpp"

namespace terroir::plugin {
namespace {

/// Of constants that make up most of their file the file is hashed instead: that may have been done before.
std::vector<Hash128> hash_constants(const std::vector<Piece>& pieces, const FileHashes& seen,
                                    const parallel::Arena& arena) {
  struct File {
    size_t bytes_used = 0;
    std::optional<Hash128> hash;
  };
  // By path and signature: what lies there now need not be what was read.
  std::map<std::pair<std::filesystem::path, FileSignature>, File> files;
  std::vector<File*> file_of;
  std::vector<size_t> offsets;
  for (const Piece& piece : pieces) {
    const auto place = MappedFile::place_of(piece.data, piece.bytes);
    file_of.push_back(place ? &files[{place->path, place->signature}] : nullptr);
    offsets.push_back(place ? place->offset : 0);
    if (place) file_of.back()->bytes_used += piece.bytes;
  }
  for (auto& [key, file] : files) {
    const auto& [path, signature] = key;
    if (file.bytes_used < signature.bytes / 2 || FileSignature::of(path) != signature) continue;
    const FileHashes::Content content = seen.content_of(path, arena);
    if (content.signature == signature) file.hash = content.hash;
  }
  std::vector<Hash128> hashes(pieces.size());
  std::vector<Piece> others;
  std::vector<size_t> their_places;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (file_of[i] != nullptr && file_of[i]->hash) {
      const uint64_t which[] = {file_of[i]->hash->low, file_of[i]->hash->high, offsets[i], pieces[i].bytes};
      hashes[i] = hash128(which, sizeof which);
    } else {
      others.push_back(pieces[i]);
      their_places.push_back(i);
    }
  }
  const std::vector<Hash128> of_others = hash_pieces(others, arena);
  for (size_t i = 0; i < others.size(); ++i) hashes[their_places[i]] = of_others[i];
  return hashes;
}

}  // namespace

ModelCache::ModelCache(const Config& config, const Hash128& model, const std::string& settings)
    : seen_(config.cache_dir),
      encryption_(config.encryption),
      encrypted_(encryption_.encrypt || encryption_.decrypt),
      file_(std::filesystem::path(config.cache_dir) /
            (hash128(concat(model.text(), ' ', build_id(), ' ', settings, encrypted_ ? " encrypted" : "")).text() +
             ".terroir")) {}

bool ModelCache::open(const parallel::Arena& arena, FunctionRef<void(Archive&)> use) const {
  std::error_code unknown;
  if ((encrypted_ && !encryption_.decrypt) || !std::filesystem::exists(file_, unknown)) return false;
  try {
    const auto file = MappedFile::open(file_, MappedFile::Address::for_large_pages);
    if (encryption_.decrypt) {
      Archive archive = decrypted(encryption_, file->data(), file->size(), arena);
      use(archive);
      return true;
    }
    const std::optional<Archive::Seal> checked_before = seen_.recall(file_, file->signature());
    Archive archive(file, file->data(), file->size(), arena, checked_before);
    if (checked_before != archive.seal()) seen_.remember(file_, file->signature(), archive.seal());
    use(archive);
    return true;
  } catch (const std::exception& error) {
    TERROIR_LOG(warning, "the cached model '", file_.string(),
                "' is not used, the model is compiled anew: ", error.what());
    return false;
  }
}

void ModelCache::write(const parallel::Arena& arena, FunctionRef<void(ArchiveWriter&)> fill) const {
  if (encrypted_ && !encryption_.encrypt) return;
  try {
    ArchiveWriter archive;
    fill(archive);
    std::filesystem::create_directories(file_.parent_path());
    PendingFile file(file_);
    write_encrypted(
        archive, encryption_, [&file](std::span<const std::string_view> parts) { file.write(parts); }, arena);
    file.set_time_back();
    file.close();
    file.rename();
    check_written();
  } catch (const std::exception& error) {
    TERROIR_LOG(warning, "the compiled model is not cached: ", error.what());
  }
}

void ModelCache::check_written() const {
  if (encrypted_) return;  // it is always read whole
  const auto file = MappedFile::open(file_, MappedFile::Address::for_large_pages);
  // On one thread: others would be interrupted whenever pages leave.
  const Archive archive(file, file->data(), file->size(), parallel::Arena(1), std::nullopt, ReadAgain::no);
  seen_.remember_written(file_, file->signature(), archive.seal());
}

std::shared_ptr<const CompiledGraph> ModelCache::find(const Plugin& plugin, const Config& config,
                                                      const ir::OpRegistry& operations,
                                                      const parallel::Arena& arena) const {
  std::shared_ptr<const CompiledGraph> compiled;
  open(arena, [&](Archive& archive) { compiled = load_compiled(plugin, archive, config, operations); });
  return compiled;
}

void ModelCache::keep(const CompiledGraph& compiled, const parallel::Arena& arena) const {
  write(arena, [&](ArchiveWriter& archive) { store_compiled(compiled, archive); });
}

std::unique_ptr<ir::Graph> ModelCache::find_weightless(const std::filesystem::path& weights,
                                                       const ir::OpRegistry& operations,
                                                       const parallel::Arena& arena) const {
  std::unique_ptr<ir::Graph> model;
  open(arena, [&](Archive& archive) { model = load_weightless(archive, weights, operations); });
  return model;
}

void ModelCache::keep_weightless(const ir::Graph& model, const std::filesystem::path& weights,
                                 const parallel::Arena& arena) const {
  write(arena, [&](ArchiveWriter& archive) { store_weightless(model, weights, archive); });
}

Hash128 hash_of_files(const std::string& xml, const std::string& bin, const FileHashes& seen,
                      const parallel::Arena& arena) {
  std::vector<Hash128> hashes = {seen.content_of(xml, arena).hash};
  std::error_code unknown;
  if (std::filesystem::exists(bin, unknown)) hashes.push_back(seen.content_of(bin, arena).hash);
  return hash128(hashes.data(), hashes.size() * sizeof(Hash128));
}

Hash128 hash_of_graph(const ir::Graph& graph, const FileHashes& seen, const parallel::Arena& arena) {
  ArchiveWriter model;
  const auto constant = [&model](const ir::Constant& value, ByteWriter& to) { model.store_constant(value, to); };
  ir::store_graph(graph, ir::NodeCodec(ops::builtin_registry()), constant, model.content(), ir::Origins::left_out);
  const std::vector<Hash128> hashes = hash_constants(model.pieces(), seen, arena);
  const Hash128 content = hash128(model.content().bytes());
  return hash128(hashes.data(), hashes.size() * sizeof(Hash128), content.low ^ content.high);
}

}  // namespace terroir::plugin
