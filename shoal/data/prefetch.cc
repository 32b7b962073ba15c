#include "shoal/data/prefetch.h"

namespace shoal {

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

void Prefetch::work() {
  const size_t per_epoch = batches_.per_epoch();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || begun_ < taken_ + ahead_; });
    if (stop_) return;
    const uint64_t number = begun_++;
    lock.unlock();
    Result<Batch> batch = batches_.at(number / per_epoch, number % per_epoch);
    lock.lock();
    made_.emplace(number, std::move(batch));
    changed_.notify_all();
  }
}

Result<Batch> Prefetch::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return made_.contains(taken_); });
  Result<Batch> batch = std::move(made_.extract(taken_).mapped());
  ++taken_;
  changed_.notify_all();
  return batch;
}

}  // namespace shoal
