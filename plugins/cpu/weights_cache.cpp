#include "plugins/cpu/weights_cache.hpp"

#include <algorithm>
#include <atomic>
#include <span>

#include "ir/base/error.hpp"
#include "ir/base/mapped_file.hpp"
#include "plugins/cpu/constant_reader.hpp"
#include "runtime/memory/arena_buffer.hpp"

namespace terroir::cpu {
namespace {

/// Bytes of one task: enough that a task costs more than its call, few enough that threads end together.
constexpr size_t kTaskBytes = size_t{256} << 10;

/// A larger constant goes piece by piece, others as a whole when they are packed.
constexpr size_t kMostKeptBytes = size_t{8} << 20;

struct Task {
  size_t job;
  int64_t begin, end;  // pieces
};

thread_local AskedFor* asked_for = nullptr;

}  // namespace

ConstantIdentity identity_of(const ir::Constant& constant) {
  return {constant.view.data, constant.view.type.get_type_name(), constant.view.dims};
}

AskedFor::AskedFor() : outer_(asked_for) { asked_for = this; }
AskedFor::~AskedFor() { asked_for = outer_; }

size_t AskedFor::bytes() const {
  std::map<const PackedBytes*, size_t> held;
  for (const auto& [handle, bytes] : packings_)
    if (const PackedWeights packed = handle.lock()) held[packed.get()] = bytes;
  size_t sum = 0;
  for (const auto& [packed, bytes] : held) sum += bytes;
  return sum;
}

void WeightsCache::expect(const ir::Graph& graph) {
  size_t bytes = 0;
  for (const ir::NodeId id : graph.nodes())
    if (const auto& constant = graph.node(id).constant) bytes += constant->view.bytes();
  const std::lock_guard lock(mutex_);
  expected_bytes_ = std::max(expected_bytes_, bytes);
}

// A third cache is shared with more than a virtual machine is told of: no more of it is counted on, whatever its size.
bool WeightsCache::leave_caches() const {
  constexpr size_t kMostKept = size_t{32} << 20;
  const std::lock_guard lock(mutex_);
  return expected_bytes_ > kMostKept;
}

PackedWeights WeightsCache::get(const ir::Constant& constant, Packing packing) {
  const ConstantIdentity self = identity_of(constant);
  const size_t bytes = packing.bytes;
  std::unique_lock lock(mutex_);
  PackedWeights handle = find(constant, std::move(packing), self);
  lock.unlock();
  for (AskedFor* list = asked_for; list != nullptr; list = list->outer_) {
    list->constants_.push_back(self);
    list->packings_.emplace_back(handle, bytes);
  }
  return handle;
}

PackedWeights WeightsCache::find(const ir::Constant& constant, Packing packing, const ConstantIdentity& self) {
  if (entries_.size() >= next_sweep_) forget_dropped();
  const Identity identity{self, packing.with ? std::optional(identity_of(*packing.with)) : std::nullopt, packing.key};
  Entry& entry = entries_[identity];
  // The addresses alone may have been used before by constants that are gone.
  const std::shared_ptr<const void> with_owner = packing.with ? packing.with->owner : nullptr;
  const auto owner = entry.owner.lock();
  if (owner && owner == constant.owner && entry.with_owner.lock() == with_owner && entry.bytes == packing.bytes)
    if (PackedWeights known = entry.packed.lock()) return known;
  auto handle = std::make_shared<PackedBytes>();
  entry = {constant.owner, with_owner, handle, packing.bytes};
  if (given_owner_ && packing.bytes > 0) {
    const auto given = given_.find(identity);
    if (given == given_.end() || given->second.bytes != packing.bytes)
      throw_error(ErrorCode::parse_error, "the compiled model has no weights packed as '", packing.key, "', ",
                  packing.bytes, " bytes");
    handle->memory_ = given_owner_;
    handle->data_ = given->second.packed;
  } else {
    waiting_.push_back({handle, constant, std::move(packing)});
  }
  return handle;
}

std::vector<StoredWeights> WeightsCache::stored() const {
  const std::lock_guard lock(mutex_);
  std::vector<StoredWeights> all;
  for (const auto& [identity, entry] : entries_)
    if (const PackedWeights packed = entry.packed.lock(); packed && packed->data_)
      all.push_back(
          {std::get<0>(identity), std::get<1>(identity), std::get<2>(identity), packed->as<void>(), entry.bytes});
  return all;
}

void WeightsCache::take_from(const std::vector<StoredWeights>& weights, std::shared_ptr<const void> owner) {
  const std::lock_guard lock(mutex_);
  for (const StoredWeights& one : weights) given_.emplace(Identity{one.constant, one.with, one.key}, one);
  given_owner_ = std::move(owner);
}

size_t WeightsCache::bytes() const {
  const std::lock_guard lock(mutex_);
  size_t sum = 0;
  for (const auto& [identity, entry] : entries_)
    if (!entry.packed.expired()) sum += entry.bytes;
  return sum;
}

/// Constants that follow from input extents come and go with their plans; so must what is known of them.
void WeightsCache::forget_dropped() {
  std::erase_if(entries_, [](const auto& entry) { return entry.second.packed.expired(); });
  next_sweep_ = 2 * entries_.size() + 256;
}

uint64_t WeightsCache::packed() const {
  const std::lock_guard lock(mutex_);
  return packed_;
}

size_t WeightsCache::held() const {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(),
                                           [](const auto& entry) { return !entry.second.packed.expired(); }));
}

void WeightsCache::pack(const parallel::Arena& arena) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (!waiting_.empty()) {
      run_batch(lock, arena);
      continue;
    }
    // All handles of this thread's plan are filled, or are being filled by batches that have begun.
    const uint64_t begun = batches_;
    batch_done_.wait(lock, [&] { return !waiting_.empty() || running_.empty() || *running_.begin() >= begun; });
    if (waiting_.empty()) return;
  }
}

void WeightsCache::run_batch(std::unique_lock<std::mutex>& lock, const parallel::Arena& arena) {
  std::vector<Job> jobs = std::move(waiting_);
  waiting_.clear();
  const uint64_t batch = batches_++;
  running_.insert(batch);
  lock.unlock();
  std::vector<Filled> filled;
  try {
    filled = fill(jobs, arena, batch == 0);
  } catch (...) {
    lock.lock();
    // Another plan may count on some of them; its thread will try again.
    std::move(jobs.begin(), jobs.end(), std::back_inserter(waiting_));
    running_.erase(batch);
    batch_done_.notify_all();
    throw;
  }
  lock.lock();
  // Here, because others look at handles under the lock.
  for (Filled& one : filled) {
    one.handle->memory_ = std::move(one.memory);
    one.handle->data_ = one.data;
  }
  packed_ += filled.size();
  running_.erase(batch);
  batch_done_.notify_all();
}

std::vector<WeightsCache::Filled> WeightsCache::fill(std::vector<Job>& jobs, const parallel::Arena& arena,
                                                     bool together) {
  std::vector<std::shared_ptr<PackedBytes>> handles;
  std::vector<std::shared_ptr<AlignedBuffer>> memories;
  std::vector<size_t> offsets;  // in the memory
  std::vector<Task> tasks;
  std::vector<std::atomic<int64_t>> open(jobs.size());  // pieces to be packed yet
  size_t total = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const Packing& packing = jobs[i].packing;
    handles.push_back(jobs[i].handle.lock());  // null: its plan was given up
    offsets.push_back(total);
    memories.push_back(nullptr);
    if (!handles.back()) continue;
    if (!together) memories.back() = std::make_shared<AlignedBuffer>(memory::allocate_large(packing.bytes));
    if (together) total += (packing.bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
    open[i] = packing.pieces;
    const size_t piece_bytes = packing.bytes / static_cast<size_t>(std::max<int64_t>(packing.pieces, 1)) + 1;
    const auto step = static_cast<int64_t>(std::max<size_t>(1, kTaskBytes / piece_bytes));
    for (int64_t begin = 0; begin < packing.pieces; begin += step)
      tasks.push_back({i, begin, std::min(begin + step, packing.pieces)});
  }
  if (together) memories.assign(jobs.size(), std::make_shared<AlignedBuffer>(memory::allocate_large(total)));
  ConstantReader reader(arena);
  arena.parallel_for_slots(static_cast<int64_t>(tasks.size()), [&](int64_t at, int64_t slot) {
    const Task& task = tasks[static_cast<size_t>(at)];
    Job& job = jobs[task.job];
    AlignedBuffer& buffer = *memories[task.job];
    // Pages are got just before they are filled, while constants go, so that both together stay small.
    const size_t piece_bytes = job.packing.bytes / static_cast<size_t>(job.packing.pieces);
    memory::get_pages(buffer, offsets[task.job] + static_cast<size_t>(task.begin) * piece_bytes,
                      static_cast<size_t>(task.end - task.begin) * piece_bytes);
    const void* constant = job.constant.view.data;
    std::span<const std::byte> rows;
    if (job.packing.first_row) {
      const size_t begin = static_cast<size_t>(job.packing.first_row(task.begin)) * job.packing.row_bytes;
      const size_t end = static_cast<size_t>(job.packing.first_row(task.end)) * job.packing.row_bytes;
      rows = {static_cast<const std::byte*>(constant) + begin, end - begin};
      constant = reader.read(rows.data(), rows.size(), slot);
    }
    job.packing.pack(constant, buffer.as<std::byte>() + offsets[task.job], task.begin, task.end);
    if (job.constant.view.bytes() > kMostKeptBytes && constant == rows.data())
      MappedFile::evict(rows.data(), rows.size());
    // Acquire and release: the last one frees what the others have read.
    const int64_t done = task.end - task.begin;
    if (open[task.job].fetch_sub(done, std::memory_order_acq_rel) != done) return;
    MappedFile::evict(job.constant.view.data, job.constant.view.bytes());
    job.constant = {};
    job.packing.pack = nullptr;
    job.packing.first_row = nullptr;
  });
  std::vector<Filled> filled;
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (!handles[i]) continue;
    if (i == 0 || memories[i] != memories[i - 1]) memory::let_pages_join(*memories[i]);
    filled.push_back({handles[i], memories[i], memories[i]->as<std::byte>() + offsets[i]});
  }
  return filled;
}

}  // namespace terroir::cpu
