#include "plugins/cpu/stage_cache.hpp"

#include <algorithm>

namespace terroir::cpu {

bool StageCache::Key::operator==(const Key& other) const {
  return program == other.program && std::equal(inputs.begin(), inputs.end(), other.inputs.begin(), other.inputs.end());
}

size_t StageCache::Hash::operator()(const Key& key) const noexcept {
  uint64_t hash = reinterpret_cast<uintptr_t>(key.program);
  const auto mix = [&hash](uint64_t number) {
    hash = (hash ^ number) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 29;
  };
  for (const ir::Dims& dims : key.inputs) {
    mix(dims.size());
    for (const int64_t extent : dims) mix(static_cast<uint64_t>(extent));
  }
  return static_cast<size_t>(hash);
}

std::shared_ptr<const Stage> StageCache::get(const Program& program, const std::vector<ir::Dims>& inputs,
                                             FunctionRef<Made()> make) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto known = by_key_.find(Key{&program, inputs});
    if (known == by_key_.end()) break;
    const auto entry = known->second;
    if (entry->stage) {
      entries_.splice(entries_.begin(), entries_, entry);
      return entry->stage;
    }
    made_or_failed_.wait(lock);
  }
  entries_.push_front({&program, inputs, nullptr});
  const auto entry = entries_.begin();
  by_key_.emplace(key_of(*entry), entry);
  lock.unlock();

  Made made;
  try {
    made = make();
  } catch (...) {
    lock.lock();
    by_key_.erase(key_of(*entry));
    entries_.erase(entry);
    made_or_failed_.notify_all();
    throw;
  }

  lock.lock();
  ++made_;
  entry->stage = made.stage;
  entry->bytes = std::max(made.bytes, kLeastBytes);
  bytes_ += entry->bytes;
  entries_.splice(entries_.begin(), entries_, entry);
  const auto evicted = evict();
  made_or_failed_.notify_all();
  lock.unlock();
  return made.stage;
}

std::vector<std::shared_ptr<const Stage>> StageCache::evict() {
  std::vector<std::shared_ptr<const Stage>> evicted;
  for (auto it = entries_.end(); bytes_ > capacity_ && it != entries_.begin();) {
    --it;
    if (!it->stage || it == entries_.begin()) continue;
    bytes_ -= it->bytes;
    evicted.push_back(std::move(it->stage));
    by_key_.erase(key_of(*it));
    it = entries_.erase(it);
  }
  return evicted;
}

bool StageCache::evict_one() {
  std::shared_ptr<const Stage> evicted;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  const auto last = std::find_if(entries_.rbegin(), entries_.rend(), [](const Entry& entry) { return entry.stage; });
  if (last == entries_.rend()) return false;
  bytes_ -= last->bytes;
  evicted = std::move(last->stage);
  by_key_.erase(key_of(*last));
  entries_.erase(std::next(last).base());
  return true;
}

std::shared_ptr<const Stage> StageCache::latest(const Program& program) const {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_)
    if (entry.program == &program && entry.stage) return entry.stage;
  return nullptr;
}

void StageCache::drop(const Program& program) {
  std::vector<std::shared_ptr<const Stage>> dropped;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    if (it->program != &program) {
      ++it;
      continue;
    }
    bytes_ -= it->bytes;
    dropped.push_back(std::move(it->stage));
    by_key_.erase(key_of(*it));
    it = entries_.erase(it);
  }
}

size_t StageCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

size_t StageCache::size() const {
  const std::lock_guard lock(mutex_);
  return by_key_.size();
}

uint64_t StageCache::made() const {
  const std::lock_guard lock(mutex_);
  return made_;
}

}  // namespace terroir::cpu
