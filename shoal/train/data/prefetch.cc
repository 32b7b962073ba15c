// Threads that make batches ahead. Workers take numbers in order under the lock and make batches
// without it; `made_` puts them back in order. At most `ahead` batches are begun and not taken,
// which bounds memory, and a worker's speed changes nothing but time.
#include "shoal/train/data/prefetch.h"

#include <new>

namespace shoal {
namespace {

// Tensors throw std::bad_alloc, and what leaves a thread ends the process.
Result<Batch> make(const Batches& batches, uint64_t epoch, size_t index) try {
  return batches.at(epoch, index);
} catch (const std::bad_alloc&) {
  return Status(Code::kExhausted, "out of memory");
}

}  // namespace

Prefetch::Prefetch(const Batches& batches, uint64_t epoch, size_t index, int threads, size_t ahead)
    : batches_(batches),
      ahead_(ahead),
      begun_(epoch * batches.per_epoch() + index),
      taken_(begun_) {
  SHOAL_CHECK(batches.per_epoch() > 0);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Prefetch::~Prefetch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

// A failed batch is a result like any other: next() returns it in its turn.
void Prefetch::work() {
  const size_t per_epoch = batches_.per_epoch();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || begun_ < taken_ + ahead_; });
    if (stop_) return;
    const uint64_t number = begun_++;
    lock.unlock();
    Result<Batch> batch = make(batches_, number / per_epoch, number % per_epoch);
    lock.lock();
    made_.emplace(number, std::move(batch));
    changed_.notify_all();
  }
}

// One caller at a time, as the order of batches is that of the calls.
Result<Batch> Prefetch::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return made_.contains(taken_); });
  Result<Batch> batch = std::move(made_.extract(taken_).mapped());
  ++taken_;
  changed_.notify_all();
  return batch;
}

}  // namespace shoal
