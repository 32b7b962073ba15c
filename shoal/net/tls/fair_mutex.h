// FairMutex: who waits for it gets it next, however soon the other wants it again.
#pragma once

#include <mutex>

namespace shoal::net {

// For two threads. Who takes a plain mutex again and again, as a reader of bulk does, can keep
// another from it for as long as a peer waits for a sign of life, where cores are few.
class FairMutex {
 public:
  void lock() {
    const std::lock_guard turn(next_);  // which who waits holds meanwhile
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex next_, mutex_;
};

}  // namespace shoal::net
