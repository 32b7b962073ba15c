// The cache of stages, least recently used out first. An entry is in the table from the moment a
// thread begins to make it, so that other requests of the same key wait instead of compiling again.
#include "shoal/engine/session/stage.h"

#include <algorithm>
#include <new>

namespace shoal {
namespace {

// A key beyond this would take longer to compare, and more memory, than it saves; such a stage is
// made anew for each request.
constexpr size_t kMaxKeyBytes = 1 << 16;

// An exception here would leave an entry that others wait for forever.
Result<MadeStage> guarded(StageMaker& maker) try {
  return maker.make();
} catch (const std::bad_alloc&) {
  return Status(Code::kExhausted, "out of memory");
}

}  // namespace

bool fits(const StageKey& key, const LiveValues& live) {
  return std::ranges::all_of(key, [&](const Requirement& required) {
    const Tensor& tensor = live[required.slot];
    if (tensor.defined() != required.type.has_value()) return false;
    if (!required.type) return true;
    if (tensor.type() != *required.type) return false;
    return !required.value.defined() || std::ranges::equal(tensor.bytes(), required.value.bytes());
  });
}

size_t bytes_of(const StageKey& key) {
  size_t bytes = 0;
  for (const Requirement& required : key) {
    if (required.value.defined()) bytes += required.value.bytes().size();
  }
  return bytes;
}

// Linear: a table keeps few stages, and comparing types is cheap beside a run.
StageTable::EntryPtr StageTable::find(const LiveValues& live) {
  const auto it =
      std::ranges::find_if(entries_, [&](const EntryPtr& entry) { return fits(entry->key, live); });
  if (it == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, it);
  return entries_.front();
}

Result<StagePtr> StageTable::get(const LiveValues& live, const RunOptions& options, size_t kept,
                                 StageMaker& maker) {
  std::unique_lock lock(mutex_);
  while (const EntryPtr entry = find(live)) {
    if (!entry->done) wait(lock, *entry, options);
    if (!entry->done) return options.interrupted();
    // Elements that decide shapes are found while it is made: it may be for others than ours.
    if (fits(entry->key, live)) return entry->stage;
  }
  const auto entry = std::make_shared<Entry>();
  entry->key = maker.key();
  entries_.push_front(entry);
  // The lock is released for the time of making, which may be seconds. The entry marks the place.
  lock.unlock();
  Result<MadeStage> result = guarded(maker);
  Result<StagePtr> stage = result.ok() ? Result<StagePtr>(result->stage) : result.status();
  lock.lock();
  finish(entry, std::move(result), kept);
  return stage;
}

void StageTable::wait(std::unique_lock<std::mutex>& lock, const Entry& entry,
                      const RunOptions& options) {
  const auto is_done = [&] { return entry.done; };
  if (options.deadline == kNoDeadline) {
    changed_.wait(lock, options.cancel, is_done);
  } else {
    changed_.wait_until(lock, options.cancel, options.deadline, is_done);
  }
}

void StageTable::finish(const EntryPtr& entry, Result<MadeStage> stage, size_t kept) {
  entry->done = true;
  changed_.notify_all();
  const bool keeps = stage.ok() && bytes_of(stage->key) <= kMaxKeyBytes;
  if (stage.ok()) {
    // The key is as narrow as binding found it, and waiters compare again.
    entry->stage = std::move(stage->stage);
    entry->key = std::move(stage->key);
  } else {
    entry->stage = stage.status();
  }
  // A failure is not kept: the next request may have more memory, or another deadline.
  if (!keeps) entries_.remove(entry);
  // Entries in the making stay: others wait for them.
  const auto is_done = [](const EntryPtr& other) { return other->done; };
  size_t count = static_cast<size_t>(std::ranges::count_if(entries_, is_done));
  for (auto it = entries_.end(); it != entries_.begin() && count > std::max<size_t>(kept, 1);) {
    if (!is_done(*--it)) continue;
    it = entries_.erase(it);
    --count;
  }
}

}  // namespace shoal
