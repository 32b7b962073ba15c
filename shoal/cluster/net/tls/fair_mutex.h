// FairMutex: a mutex that the waiting thread gets next, however soon its holder wants it again.
#pragma once

#include <mutex>

namespace shoal::net {

// For two threads. A thread that takes a plain mutex again and again, as a reader of bulk does, can
// keep the other from it for as long as a peer waits for a sign of life, where cores are few.
class FairMutex {
 public:
  void lock() {
    const std::lock_guard turn(next_);  // held while waiting: the releasing thread queues behind it
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex next_, mutex_;
};

}  // namespace shoal::net
