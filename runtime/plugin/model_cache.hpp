#pragma once
// What: CACHE_DIR, a folder with one file per compiled model, named by the hash of everything it follows from: the
// model, the build of this library, device, settings and machine. Files are mapped read-only, so processes share their
// pages. What has been hashed once, the model's files and those in the folder, is not read again only to hash it while
// it stays as it is (file_hashes.hpp); a file of the folder is read and hashed by who wrote it. Layouts: archive.hpp.
// Threads and processes: any; a file appears complete or not at all. Edge cases: a file that is damaged, of another
// model or cannot be read or written costs a warning and is not used; nothing here throws for it. The folder is made
// when it is missing. Encrypted files are read whole, and belong to this process; without the function that encrypts
// none is written, without that which decrypts none is read: nothing is ever stored as it is when one of them is set.
// Files are never deleted: each pair of model and settings has one of about the size of the weights, and each build of
// the library its own. Models without weights are models as they were read, to be compiled again: what they have from
// the model's .bin is taken from there.
#include <filesystem>
#include <memory>
#include <string>

#include "ir/base/hash128.hpp"
#include "runtime/plugin/archive.hpp"
#include "runtime/plugin/file_hashes.hpp"
#include "runtime/plugin/plugin.hpp"

namespace terroir::plugin {

class ModelCache {
 public:
  /// `settings`: a text with all that the compiled form follows from besides model and library. `config`: folder and
  /// encryption.
  ModelCache(const Config& config, const Hash128& model, const std::string& settings);

  /// Null: there is none that can be used.
  std::shared_ptr<const CompiledGraph> find(const Plugin& plugin, const Config& config,
                                            const ir::OpRegistry& operations, const parallel::Arena& arena) const;
  void keep(const CompiledGraph& compiled, const parallel::Arena& arena) const;

  /// `weights`: the .bin of the model that was hashed. Null: there is none that can be used.
  std::unique_ptr<ir::Graph> find_weightless(const std::filesystem::path& weights, const ir::OpRegistry& operations,
                                             const parallel::Arena& arena) const;
  void keep_weightless(const ir::Graph& model, const std::filesystem::path& weights,
                       const parallel::Arena& arena) const;

 private:
  /// False, with a warning, when there is no such file or `use` cannot use it.
  bool open(const parallel::Arena& arena, FunctionRef<void(Archive&)> use) const;
  void write(const parallel::Arena& arena, FunctionRef<void(ArchiveWriter&)> fill) const;
  /// Of a file that has just been written; Exception when it is not what was meant.
  void check_written() const;

  FileHashes seen_;
  EncryptionCallbacks encryption_;
  bool encrypted_;
  std::filesystem::path file_;
};

/// Of the bytes of a model's files, without reading the model. Exception (file_not_found) when there is no `xml`.
Hash128 hash_of_files(const std::string& xml, const std::string& bin, const FileHashes& seen,
                      const parallel::Arena& arena);
/// Of all that a model says. Constants that lie in a file as it was read count by the hash of the whole file, others by
/// their own: one model has one hash for each of these two.
Hash128 hash_of_graph(const ir::Graph& graph, const FileHashes& seen, const parallel::Arena& arena);

}  // namespace terroir::plugin
