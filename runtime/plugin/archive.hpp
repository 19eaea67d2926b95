#pragma once
// What: the file of a compiled model: a description, and pieces of memory (weights as the kernels want them, constants)
// that are used where they lie in the file.
// Layouts: header of 64 bytes {16 letters, format, bytes of the description, of all, hash of the description};
//   description: build id, table of the pieces {offset, bytes, hash}, what the device says;
//   the pieces, each at a multiple of 64 bytes. Numbers as this machine writes them.
// Edge cases: an Archive is made only of bytes of which every hash holds (or of whose pieces the caller knows that they
//   do); else Exception: parse_error (damaged, cut short, another file), unsupported (of another build of the library).
//   Hashes protect against damage, not against who makes such a file on purpose: import what you trust, as you would a
//   program.
#include <istream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/base/byte_stream.hpp"
#include "ir/base/function_ref.hpp"
#include "ir/graph/graph.hpp"
#include "runtime/plugin/piece_hashes.hpp"
#include "terroir/properties.hpp"

namespace terroir::plugin {

class ArchiveWriter {
 public:
  /// What the device says.
  ByteWriter& content() { return content_; }
  /// The number of a piece; the same one for the same memory. `owner` is kept.
  uint32_t add(const void* data, size_t bytes, std::shared_ptr<const void> owner = nullptr);
  /// The whole value of a constant, into content(), and its bytes as a piece.
  void store_constant(const ir::Constant& constant, ByteWriter& to);

  /// Takes all of the file, one part after the other.
  using Sink = FunctionRef<void(std::span<const std::string_view> parts)>;
  void write(Sink sink, const parallel::Arena& arena) const;
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  ByteWriter content_;
  std::vector<Piece> pieces_;
  std::vector<std::shared_ptr<const void>> owners_;
  std::map<std::pair<const void*, size_t>, uint32_t> known_;
};

class Archive {
 public:
  /// Of the whole description, and so of the hashes of all pieces.
  using Seal = Hash128;
  /// Bytes that `owner` keeps, at a multiple of 64; the threads of `arena` check them. Those of the pieces are not read
  /// when they are known to be those of `checked_before`.
  Archive(std::shared_ptr<const void> owner, const void* data, size_t bytes, const parallel::Arena& arena,
          const std::optional<Seal>& checked_before = std::nullopt, ReadAgain pieces = ReadAgain::yes);
  /// Like the constructor; what does not lie at a multiple of 64 is copied.
  static Archive over(std::shared_ptr<const void> owner, const void* data, size_t bytes, const parallel::Arena& arena);
  /// From where the stream stands to the end of the archive.
  static Archive read(std::istream& stream, const parallel::Arena& arena);

  ByteReader& content() { return content_; }
  const Seal& seal() const { return seal_; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  /// Exception (parse_error) for a number that there is not.
  Piece piece(size_t number) const;
  ir::Constant load_constant(ByteReader& from) const;

 private:
  std::shared_ptr<const void> owner_;
  Seal seal_;
  std::vector<Piece> pieces_;
  ByteReader content_{nullptr, 0};
};

/// Writes an archive, encrypted as a whole if there is a function for it.
void write_encrypted(const ArchiveWriter& archive, const EncryptionCallbacks& encryption, ArchiveWriter::Sink sink,
                     const parallel::Arena& arena);
/// The archive that encrypted bytes are; `encryption` has a function for it.
Archive decrypted(const EncryptionCallbacks& encryption, const void* data, size_t bytes, const parallel::Arena& arena);

}  // namespace terroir::plugin
