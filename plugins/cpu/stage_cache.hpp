#pragma once
// What: the stages of one compiled model, by program and input extents. Those used longest ago go when all together
// exceed a number of bytes; whoever runs one keeps it alive meanwhile.
// Threads: any. A stage is made by the thread that asks for it first, outside of the lock: others go on with theirs,
// and who wants the same one waits for it.
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/base/function_ref.hpp"
#include "ir/base/tensor_view.hpp"

namespace terroir::cpu {

class Program;
struct Stage;

class StageCache {
 public:
  /// What an entry counts at least, however small its plan: keeps the number of entries bounded, too.
  static constexpr size_t kLeastBytes = size_t{128} << 10;

  struct Made {
    std::shared_ptr<const Stage> stage;
    size_t bytes = 0;
  };

  /// `capacity` in bytes. The entry used last stays even where it alone exceeds them.
  explicit StageCache(size_t capacity) : capacity_(capacity) {}

  /// The stage of `program` for these input extents; when there is none, what `make` returns. Exceptions of `make`
  /// leave the cache as it was.
  std::shared_ptr<const Stage> get(const Program& program, const std::vector<ir::Dims>& inputs,
                                   FunctionRef<Made()> make);

  /// The stage of the program that was used last, or null.
  std::shared_ptr<const Stage> latest(const Program& program) const;

  /// Lets go of the stage that was used longest ago; false if there is none.
  bool evict_one();

  /// Forgets the stages of a program that is about to go.
  void drop(const Program& program);

  size_t bytes() const;
  size_t size() const;
  /// How many stages have been made so far.
  uint64_t made() const;

 private:
  struct Entry {
    const Program* program;
    std::vector<ir::Dims> inputs;
    std::shared_ptr<const Stage> stage;  // null while it is being made
    size_t bytes = 0;
  };
  struct Key {
    const Program* program;
    std::span<const ir::Dims> inputs;  // those of the entry
    bool operator==(const Key& other) const;
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept;
  };
  using Entries = std::list<Entry>;

  static Key key_of(const Entry& entry) { return {entry.program, entry.inputs}; }
  /// Takes what must go out of the cache. Destroying a stage may call drop(), so callers do it without the lock.
  std::vector<std::shared_ptr<const Stage>> evict();

  mutable std::mutex mutex_;
  std::condition_variable made_or_failed_;
  size_t capacity_, bytes_ = 0;
  uint64_t made_ = 0;
  Entries entries_;  // the one used last in front
  std::unordered_map<Key, Entries::iterator, Hash> by_key_;
};

}  // namespace terroir::cpu
