#include "runtime/plugin/archive.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "ir/base/aligned_buffer.hpp"
#include "ir/base/build_id.hpp"
#include "ir/base/error.hpp"
#include "ir/stored/attributes.hpp"

namespace terroir::plugin {
namespace {

constexpr char kLetters[17] = "terroir compiled";
constexpr uint64_t kFormat = 2;

struct Header {
  std::array<char, 16> letters{};
  uint64_t format = 0;
  uint64_t description_bytes = 0;
  uint64_t bytes = 0;  // of all
  Hash128 description;
  uint64_t unused = 0;
};
static_assert(sizeof(Header) == 64);

size_t aligned(size_t offset) { return (offset + kCacheLine - 1) / kCacheLine * kCacheLine; }

Header checked_header(const void* data, size_t bytes) {
  Header header;
  if (bytes < sizeof header)
    throw_error(ErrorCode::parse_error, "it has ", bytes, " bytes, too few for a compiled model");
  std::memcpy(&header, data, sizeof header);
  if (std::memcmp(header.letters.data(), kLetters, header.letters.size()) != 0)
    throw_error(
        ErrorCode::parse_error,
        "it is no compiled model of Terroir, as export_model() writes them; Core::read_model() reads IR models");
  if (header.format != kFormat)
    throw_error(ErrorCode::unsupported, "its format ", header.format, " is not that of this version, ", kFormat,
                ": compile the model anew");
  ByteReader::require(header.unused == 0 && header.description_bytes <= header.bytes - sizeof header &&
                      header.bytes >= sizeof header);
  return header;
}

/// Reads so many bytes behind `taken`, or to the end. The buffer grows with what is there and not with what a damaged
/// length claims.
void read_to(std::istream& stream, AlignedBuffer& buffer, size_t& taken, size_t bytes) {
  constexpr size_t kStep = size_t{1} << 24;
  while (taken < bytes) {
    if (buffer.size() == taken) {
      AlignedBuffer larger(std::min(bytes, std::max(2 * taken, kStep)));
      if (taken > 0) std::memcpy(larger.data(), buffer.data(), taken);
      buffer = std::move(larger);
    }
    const size_t wanted = std::min(buffer.size(), bytes) - taken;
    stream.read(buffer.as<char>() + taken, static_cast<std::streamsize>(wanted));
    const auto got = static_cast<size_t>(stream.gcount());
    taken += got;
    if (got < wanted) return;
  }
}

}  // namespace

uint32_t ArchiveWriter::add(const void* data, size_t bytes, std::shared_ptr<const void> owner) {
  const auto [known, is_new] = known_.emplace(std::pair(data, bytes), static_cast<uint32_t>(pieces_.size()));
  if (is_new) {
    pieces_.push_back({data, bytes});
    owners_.push_back(std::move(owner));
  }
  return known->second;
}

void ArchiveWriter::store_constant(const ir::Constant& constant, ByteWriter& to) {
  ir::store_type(constant.view.type, to);
  to.numbers(constant.view.dims);
  if (constant.view.type == element::string) {
    const auto* texts = constant.view.as<std::string>();
    for (int64_t i = 0; i < constant.view.count(); ++i) to.text(texts[i]);
  } else {
    to.put(add(constant.view.data, constant.view.bytes(), constant.owner));
  }
}

void ArchiveWriter::write(Sink sink, const parallel::Arena& arena) const {
  const std::vector<Hash128> hashes = hash_pieces(pieces_, arena);
  // The table has the same length whatever it says, so the offsets can be told once it is known.
  const auto description_for = [&](size_t first) {
    ByteWriter description;
    description.text(build_id());
    description.count(pieces_.size());
    size_t offset = first;
    for (size_t i = 0; i < pieces_.size(); ++i) {
      description.put(static_cast<uint64_t>(offset));
      description.put(static_cast<uint64_t>(pieces_[i].bytes));
      description.put(hashes[i].low);
      description.put(hashes[i].high);
      offset = aligned(offset + pieces_[i].bytes);
    }
    return std::pair(description.bytes() + content_.bytes(), offset);
  };
  const size_t first = aligned(sizeof(Header) + description_for(0).first.size());
  const auto [description, bytes] = description_for(first);
  Header header;
  std::copy_n(kLetters, header.letters.size(), header.letters.begin());
  header.format = kFormat;
  header.description_bytes = description.size();
  header.bytes = bytes;
  header.description = hash128(description);
  static constexpr std::array<char, kCacheLine> kZeros{};
  std::vector<std::string_view> parts;
  size_t at = 0;
  const auto add = [&](const void* data, size_t size) {
    parts.emplace_back(static_cast<const char*>(data), size);
    at += size;
  };
  const auto fill = [&] { add(kZeros.data(), aligned(at) - at); };
  add(&header, sizeof header);
  add(description.data(), description.size());
  for (const Piece& piece : pieces_) {
    fill();
    add(piece.data, piece.bytes);
  }
  fill();
  sink(parts);
}

Archive::Archive(std::shared_ptr<const void> owner, const void* data, size_t bytes, const parallel::Arena& arena,
                 const std::optional<Seal>& checked_before, ReadAgain pieces)
    : owner_(std::move(owner)) {
  const Header header = checked_header(data, bytes);
  if (header.bytes != bytes)
    throw_error(ErrorCode::parse_error, "the compiled model has ", header.bytes, " bytes, found ", bytes,
                ": it is cut short or damaged");
  const char* const base = static_cast<const char*>(data);
  ByteReader::require(hash128(base + sizeof header, header.description_bytes) == header.description);
  seal_ = header.description;
  content_ = ByteReader(base + sizeof header, header.description_bytes);
  const std::string build = content_.text();
  if (build != build_id())
    throw_error(ErrorCode::unsupported, "it was made by another build of Terroir (", build, ", this is ", build_id(),
                "): compile the model anew");
  const size_t count = content_.count();
  std::vector<Hash128> expected;
  for (size_t i = 0; i < count; ++i) {
    const auto offset = content_.take<uint64_t>(), size = content_.take<uint64_t>();
    ByteReader::require(offset <= bytes && size <= bytes - offset && offset % kCacheLine == 0);
    pieces_.push_back({base + offset, size});
    expected.push_back({content_.take<uint64_t>(), 0});
    expected.back().high = content_.take<uint64_t>();
  }
  if (checked_before != seal_ && hash_pieces(pieces_, arena, pieces) != expected)
    throw_error(ErrorCode::parse_error, "the compiled model is damaged: its weights are not those that were written");
}

Archive Archive::over(std::shared_ptr<const void> owner, const void* data, size_t bytes, const parallel::Arena& arena) {
  if (reinterpret_cast<uintptr_t>(data) % kCacheLine == 0) return {std::move(owner), data, bytes, arena};
  auto copy = std::make_shared<AlignedBuffer>(bytes);
  if (bytes > 0) std::memcpy(copy->data(), data, bytes);
  const void* there = copy->data();
  return {std::move(copy), there, bytes, arena};
}

Archive Archive::read(std::istream& stream, const parallel::Arena& arena) {
  auto buffer = std::make_shared<AlignedBuffer>();
  size_t taken = 0;
  read_to(stream, *buffer, taken, sizeof(Header));
  const Header header = checked_header(buffer->data(), taken);
  read_to(stream, *buffer, taken, header.bytes);
  const void* data = buffer->data();
  return Archive(std::move(buffer), data, taken, arena);
}

Piece Archive::piece(size_t number) const {
  ByteReader::require(number < pieces_.size());
  return pieces_[number];
}

ir::Constant Archive::load_constant(ByteReader& from) const {
  const element::Type type = ir::load_type(from);
  ir::Dims dims = from.numbers<int64_t>();
  const int64_t elements = ir::element_count(dims);
  if (type == element::string) {
    auto texts = std::make_shared<std::vector<std::string>>();
    for (int64_t i = 0; i < elements; ++i) texts->push_back(from.text());
    const void* data = texts->data();
    return {{type, std::move(dims), data}, std::move(texts)};
  }
  const Piece found = piece(from.take<uint32_t>());
  ByteReader::require(found.bytes == ir::byte_size(type, elements));
  return {{type, std::move(dims), found.data}, owner_};
}

void write_encrypted(const ArchiveWriter& archive, const EncryptionCallbacks& encryption, ArchiveWriter::Sink sink,
                     const parallel::Arena& arena) {
  if (!encryption.encrypt) return archive.write(sink, arena);
  std::string plain;
  const auto append = [&plain](std::span<const std::string_view> parts) {
    for (const std::string_view part : parts) plain += part;
  };
  archive.write(append, arena);
  const std::string secret = encryption.encrypt(plain);
  const std::string_view part = secret;
  sink({&part, 1});
}

Archive decrypted(const EncryptionCallbacks& encryption, const void* data, size_t bytes, const parallel::Arena& arena) {
  auto plain =
      std::make_shared<const std::string>(encryption.decrypt(std::string(static_cast<const char*>(data), bytes)));
  return Archive::over(plain, plain->data(), plain->size(), arena);
}

}  // namespace terroir::plugin
