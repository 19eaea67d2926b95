#pragma once
// What: packed weights of one compiled model, made once and shared by all its plans, streams and requests.
// How: executors ask while a plan is built and get an empty handle; pack() then fills all handles in one parallel loop
//   over the pieces of all packings. A constant whose pieces are done is let go, and its pages of the weights file
//   leave memory, so the process never holds all weights twice. What the first plan packs lies together on huge pages;
//   what later ones add has memory of its own each, which goes with the last plan that reads it.
// Threads: any. Different plans may be compiled at once; each constant is packed by one of them, the others wait for it
//   in their own pack().
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ir/base/aligned_buffer.hpp"
#include "ir/graph/graph.hpp"
#include "plugins/cpu/weight_steps.hpp"
#include "runtime/parallel/arena.hpp"

namespace terroir::cpu {

/// Packed bytes, 64-byte aligned; there after WeightsCache::pack().
class PackedBytes {
 public:
  template <typename T>
  const T* as() const noexcept {
    return static_cast<const T*>(data_);
  }

 private:
  friend class WeightsCache;
  std::shared_ptr<const void> memory_;  // may be shared with what was packed along with it
  const void* data_ = nullptr;
};

using PackedWeights = std::shared_ptr<const PackedBytes>;

/// How a constant is packed.
struct Packing {
  /// Everything that the packed bytes depend on besides the constants; the same in another process.
  std::string key;
  /// Another constant that goes into them: a bias, zero points.
  std::optional<ir::Constant> with = std::nullopt;
  size_t bytes = 0;
  /// Independent parts of the work, of about equal size.
  int64_t pieces = 1;
  /// Pieces [begin, end) into `packed`, `bytes` uninitialised bytes, of which the pieces together write all. Throws
  /// nothing. It owns all it needs but the constant.
  std::function<void(const void* constant, void* packed, int64_t begin, int64_t end)> pack;
  /// Where the constant is rows of so many bytes, and piece i reads those from first_row(i) up to first_row(i + 1)
  /// only: pack() then gets row first_row(begin) in the place of `constant`, and finds nothing before it.
  size_t row_bytes = 0;
  std::function<int64_t(int64_t piece)> first_row = {};
};

/// What a constant is known by while it is there: address, type, extents. Constants of a file may begin at one byte and
/// be other tensors.
using ConstantIdentity = std::tuple<const void*, std::string, ir::Dims>;
ConstantIdentity identity_of(const ir::Constant& constant);

/// Packed weights as a file of a compiled model holds them.
struct StoredWeights {
  ConstantIdentity constant;             // that was packed
  std::optional<ConstantIdentity> with;  // the other one
  std::string key;
  const void* packed = nullptr;
  size_t bytes = 0;
};

/// The packings for which this thread asks while the object lives.
class AskedFor {
 public:
  AskedFor();
  AskedFor(const AskedFor&) = delete;
  AskedFor& operator=(const AskedFor&) = delete;
  ~AskedFor();
  /// Those that are packed.
  const std::vector<ConstantIdentity>& constants() const { return constants_; }
  /// Bytes of the packings that somebody holds still.
  size_t bytes() const;

 private:
  friend class WeightsCache;
  std::vector<ConstantIdentity> constants_;
  std::vector<std::pair<std::weak_ptr<const PackedBytes>, size_t>> packings_;
  AskedFor* outer_;
};

class WeightsCache {
 public:
  /// The handle of this packing of `constant`, a new one unless somebody holds it already.
  PackedWeights get(const ir::Constant& constant, Packing packing);

  /// Fills all handles given out so far, on the threads of `arena`. Exception (out_of_memory).
  void pack(const parallel::Arena& arena);

  /// What is packed and held by somebody.
  std::vector<StoredWeights> stored() const;
  /// From now on handles are those of `weights`, memory that `owner` keeps; nothing else is packed: get() throws
  /// Exception (parse_error) for what is not among them.
  void take_from(const std::vector<StoredWeights>& weights, std::shared_ptr<const void> owner);

  /// The constants of `graph`, which is the model or a part of it, are read by each inference.
  void expect(const ir::Graph& graph);
  /// Whether those expected are more than caches keep from one inference to the next.
  bool leave_caches() const;

  /// Of the same constants.
  WeightSteps& steps() { return steps_; }

  /// Bytes of what is packed, or will be, and is held by somebody.
  size_t bytes() const;
  /// How many handles somebody holds.
  size_t held() const;
  /// How many have been filled so far.
  uint64_t packed() const;

 private:
  /// The constant, the other one, key.
  using Identity = std::tuple<ConstantIdentity, std::optional<ConstantIdentity>, std::string>;
  struct Entry {
    std::weak_ptr<const void> owner, with_owner;
    std::weak_ptr<const PackedBytes> packed;
    size_t bytes = 0;
  };
  struct Job {
    std::weak_ptr<PackedBytes> handle;
    ir::Constant constant;
    Packing packing;
  };
  /// A handle and what it is to hold.
  struct Filled {
    std::shared_ptr<PackedBytes> handle;
    std::shared_ptr<const void> memory;
    const void* data;
  };
  /// The handle for `identity`, perhaps a new one. With the mutex held.
  PackedWeights find(const ir::Constant& constant, Packing packing, const ConstantIdentity& self);
  void run_batch(std::unique_lock<std::mutex>& lock, const parallel::Arena& arena);
  static std::vector<Filled> fill(std::vector<Job>& jobs, const parallel::Arena& arena, bool together);
  void forget_dropped();

  WeightSteps steps_;
  mutable std::mutex mutex_;
  size_t expected_bytes_ = 0;
  std::condition_variable batch_done_;
  std::map<Identity, Entry> entries_;
  std::map<Identity, StoredWeights> given_;
  std::shared_ptr<const void> given_owner_;  // null: nothing was given
  size_t next_sweep_ = 256;                  // entries
  std::vector<Job> waiting_;
  uint64_t batches_ = 0, packed_ = 0;
  std::set<uint64_t> running_;  // batches
};

}  // namespace terroir::cpu
