#include "stream_faults.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

namespace shoal::net {

class StreamFaultInjector::Registry {
 public:
  // Each stream gets its own seed, in order of creation, so that a run can be repeated.
  uint64_t add(FaultyStream* stream) {
    const std::lock_guard lock(mutex_);
    streams_.push_back(stream);
    return count_++;
  }
  void remove(FaultyStream* stream) {
    const std::lock_guard lock(mutex_);
    std::erase(streams_, stream);
  }
  template <class F>
  void for_each(const F& f) {
    const std::lock_guard lock(mutex_);
    for (FaultyStream* stream : streams_) f(*stream);
  }

 private:
  std::mutex mutex_;
  std::vector<FaultyStream*> streams_;
  uint64_t count_ = 0;  // ever
};

class StreamFaultInjector::FaultyStream final : public Stream {
 public:
  FaultyStream(std::unique_ptr<Stream> inner, const Faults& faults,
               std::shared_ptr<Registry> registry)
      : inner_(std::move(inner)),
        faults_(faults),
        registry_(std::move(registry)),
        random_(faults.seed + registry_->add(this)) {}
  ~FaultyStream() override { registry_->remove(this); }

  Result<size_t> read(std::span<std::byte> into, Deadline deadline) override {
    for (;;) {
      auto n = inner_->read(into, deadline);
      // A peer without power does not even close its connection: the end of stream is hidden, too.
      if (!muted_) return n;
      if (!n.ok()) return wait_in_silence(deadline);
    }
  }

  Status write(std::span<const Bytes> pieces, Deadline deadline) override {
    // Always in this order: the draws of a stream then depend on its writes only.
    if (chance(faults_.cut)) cut();
    if (chance(faults_.mute)) mute();
    if (chance(faults_.delay)) SHOAL_TRY(delay(deadline));
    // A muted writer succeeds, as one whose packets vanish does for a while.
    return muted_ ? Status() : inner_->write(pieces, deadline);
  }

  Status flush(Deadline deadline) override { return muted_ ? Status() : inner_->flush(deadline); }

  void shut_down() override {
    {
      const std::lock_guard lock(mutex_);
      shut_ = true;
      changed_.notify_all();
    }
    inner_->shut_down();
  }

  void cut() { inner_->shut_down(); }
  void mute() { muted_ = true; }

 private:
  bool chance(double share) {
    return share > 0 && std::bernoulli_distribution(std::min(share, 1.0))(random_);
  }

  Status wait_in_silence(Deadline deadline) {
    std::unique_lock lock(mutex_);
    const bool shut = changed_.wait_until(lock, deadline, [&] { return shut_; });
    return shut ? Status(Code::kUnavailable, "closed the connection")
                : Status(Code::kDeadline, "nothing came");
  }

  Status delay(Deadline deadline) {
    const Deadline end = after(faults_.delay_time);
    const Status waited = wait_in_silence(std::min(end, deadline));
    return waited.code() == Code::kDeadline && end <= deadline ? Status() : waited;
  }

  const std::unique_ptr<Stream> inner_;
  const Faults faults_;
  const std::shared_ptr<Registry> registry_;
  std::mt19937_64 random_;  // the writer's
  std::atomic<bool> muted_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool shut_ = false;
};

StreamFaultInjector::StreamFaultInjector(const Faults& faults)
    : faults_(faults), registry_(std::make_shared<Registry>()) {}

StreamFaultInjector::~StreamFaultInjector() = default;

std::unique_ptr<Stream> StreamFaultInjector::wrap(std::unique_ptr<Stream> stream,
                                                  const Peer&) const {
  return std::make_unique<FaultyStream>(std::move(stream), faults_, registry_);
}

void StreamFaultInjector::cut_all() const {
  registry_->for_each([](FaultyStream& stream) { stream.cut(); });
}

void StreamFaultInjector::mute_all() const {
  registry_->for_each([](FaultyStream& stream) { stream.mute(); });
}

}  // namespace shoal::net
