// Quota: a limit on the number of things that each peer may hold. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace shoal::net {

class Quota : public std::enable_shared_from_this<Quota> {
 public:
  explicit Quota(size_t each) : each_(each) {}

  // A place, held as long as the returned pointer lives; null if `name` has used up its share.
  std::shared_ptr<void> take(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (held_[name] >= each_) return nullptr;
    ++held_[name];
    return {this, [self = shared_from_this(), name](void*) { self->give(name); }};
  }

 private:
  void give(const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (--held_[name] == 0) held_.erase(name);
  }

  const size_t each_;
  std::mutex mutex_;
  std::map<std::string, size_t> held_;
};

}  // namespace shoal::net
