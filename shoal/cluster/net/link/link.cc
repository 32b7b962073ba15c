// A slow link as a queue. A write computes when its bytes leave and arrive (LinkClock) and returns
// as soon as they fit the emulated send buffer; a carrier thread passes them on at the time of
// arrival. Backpressure therefore reaches the sender as it does from a real link: by a full buffer.
#include "shoal/cluster/net/link/link.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "shoal/base/timing/timer_slack.h"
#include "shoal/cluster/net/link/link_clock.h"
#include "shoal/cluster/net/stream.h"

namespace shoal::net {
namespace {

using Clock = Medium::Clock;

// Holds written bytes until they would have arrived, and passes them on from its own thread.
class LinkStream final : public Stream {
 public:
  LinkStream(std::unique_ptr<Stream> inner, const LinkOptions& options, uint64_t seed)
      : inner_(std::move(inner)),
        buffer_bytes_(options.spec.buffer_bytes),
        radio_(options.sender),
        clock_(options, seed),
        carrier_([this] { carry(); }) {}

  ~LinkStream() override {
    LinkStream::shut_down();
    carrier_.join();
  }

  Result<size_t> read(std::span<std::byte> into, Deadline deadline) override {
    auto n = inner_->read(into, deadline);
    // Receiving keeps a radio awake as well, but heartbeats are not part of the emulated world.
    if (n.ok() && !LinkClock::is_sign_of_life(*n)) radio_->used_until(Clock::now());
    return n;
  }

  Status write(std::span<const Bytes> pieces, Deadline deadline) override {
    std::unique_lock lock(mutex_);
    SHOAL_TRY(wait_for_room(lock, deadline));
    Parcel parcel;
    for (Bytes piece : pieces) parcel.bytes.insert(parcel.bytes.end(), piece.begin(), piece.end());
    parcel.when = clock_.transfer(parcel.bytes.size(), Clock::now());
    parcels_.push_back(std::move(parcel));
    changed_.notify_all();
    return {};
  }

  // The link takes its time whether or not a caller waits for it.
  Status flush(Deadline) override {
    const std::lock_guard lock(mutex_);
    return failure_;
  }

  bool has_input() override { return inner_->has_input(); }

  void shut_down() override {
    inner_->shut_down();
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = Status(Code::kUnavailable, "closed the connection");
    changed_.notify_all();
  }

 private:
  struct Parcel {
    std::vector<std::byte> bytes;
    LinkClock::Transfer when;
  };

  // Parcels in the sender's buffer: not yet left, or arrived and not taken by the peer.
  // Bytes between leaving and arriving are in the air and in no buffer.
  size_t buffered(Clock::time_point now) const {
    size_t sum = 0;
    for (const Parcel& parcel : parcels_)
      if (parcel.when.left > now || parcel.when.arrives <= now) sum += parcel.bytes.size();
    return sum;
  }

  Status wait_for_room(std::unique_lock<std::mutex>& lock, Deadline deadline) {
    for (;;) {
      SHOAL_TRY(failure_);
      const auto now = Clock::now();
      if (parcels_.empty() || buffered(now) < buffer_bytes_) return {};
      if (now >= deadline) return Status(Code::kDeadline, "the link is too slow");
      Deadline next = deadline;  // when something leaves
      for (const Parcel& parcel : parcels_)
        if (parcel.when.left > now) next = std::min(next, parcel.when.left);
      changed_.wait_until(lock, next);
    }
  }

  void carry() {
    use_exact_timers();
    std::unique_lock lock(mutex_);
    while (failure_.ok()) {
      if (parcels_.empty()) {
        changed_.wait(lock);
        continue;
      }
      const auto due = parcels_.front().when.arrives;
      if (Clock::now() < due) {
        changed_.wait_until(lock, due);
        continue;
      }
      const Bytes bytes(parcels_.front().bytes);  // stays where it is while others are added
      lock.unlock();
      Status status = inner_->write(std::array<Bytes, 1>{bytes}, Deadline::max());
      if (status.ok()) status = inner_->flush(Deadline::max());
      lock.lock();
      if (failure_.ok()) failure_ = status;
      parcels_.pop_front();
      changed_.notify_all();
    }
  }

  const std::unique_ptr<Stream> inner_;
  const size_t buffer_bytes_;
  const std::shared_ptr<Radio> radio_;
  std::mutex mutex_;
  std::condition_variable changed_;
  LinkClock clock_;
  std::deque<Parcel> parcels_;
  Status failure_;
  std::thread carrier_;  // last: it uses the rest
};

class Link final : public Decorator {
 public:
  explicit Link(LinkOptions options) : options_(std::move(options)) {
    if (options_.sender == nullptr) options_.sender = Radio::create();
    if (options_.receiver == nullptr) options_.receiver = options_.sender;
  }
  std::unique_ptr<Stream> wrap(std::unique_ptr<Stream> stream, const Peer&) const override {
    return std::make_unique<LinkStream>(std::move(stream), options_,
                                        options_.spec.seed + streams_.fetch_add(1));
  }

 private:
  LinkOptions options_;
  mutable std::atomic<uint64_t> streams_{0};
};

}  // namespace

std::shared_ptr<const Decorator> make_link(LinkOptions options) {
  return std::make_shared<Link>(std::move(options));
}

}  // namespace shoal::net
