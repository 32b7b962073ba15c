// Prefetch: threads that make the batches to come while the last one is learned from.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "shoal/train/data/batches.h"

namespace shoal {

class Prefetch {
 public:
  // From batch `index` of `epoch` on, epoch after epoch; at most `ahead` of them wait to be taken.
  // REQUIRES: an epoch has a batch; the batches outlive this.
  Prefetch(const Batches& batches, uint64_t epoch, size_t index, int threads, size_t ahead);
  ~Prefetch();
  Prefetch(const Prefetch&) = delete;
  Prefetch& operator=(const Prefetch&) = delete;

  // The next batch in order, whichever thread made it. Blocks until it is made. One caller at a
  // time.
  Result<Batch> next();

 private:
  void work();

  const Batches& batches_;
  const size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t begun_, taken_;  // how many batches since the first of epoch 0
  bool stop_ = false;
  std::map<uint64_t, Result<Batch>> made_;
  std::vector<std::thread> threads_;
};

}  // namespace shoal
