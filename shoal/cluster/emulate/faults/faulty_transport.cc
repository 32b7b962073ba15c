// Faults at the receiver. A cut or delayed way is emulated by holding back bytes that have already
// arrived: the sender cannot tell, as on a real network, and TCP's own retransmission is not
// disturbed. Damage happens below TLS, which has to detect it. One watcher thread for each process
// wakes the readers that wait when the shared faults change.
#include "shoal/cluster/emulate/faults/faulty_transport.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "shoal/cluster/net/stream.h"

namespace shoal::emulate {
namespace {

using net::Bytes;
using net::Deadline;
using Clock = SharedNetworkFaults::Clock;

// The ways between two machines, as one of them sees them.
struct Between {
  std::shared_ptr<SharedNetworkFaults> faults;
  int self = 0, peer = 0;

  bool is_cut() const { return faults->is_cut(peer, self); }
  std::chrono::milliseconds delay() const { return faults->delay_of(peer, self); }
  uint32_t breaks() const { return faults->breaks(peer, self); }
};

class FaultyStream;

// The faulty streams of this process, which are told when the faults change.
class Streams {
 public:
  explicit Streams(std::shared_ptr<const SharedNetworkFaults> faults)
      : faults_(std::move(faults)), watcher_([this] { watch(); }) {}
  ~Streams() {
    over_ = true;
    // Repeated: a wake-up between the watcher's test of over_ and its wait would be lost.
    while (!ended_) faults_->wake();
    watcher_.join();
  }

  void add(FaultyStream* stream) {
    const std::lock_guard lock(mutex_);
    streams_.push_back(stream);
  }
  void remove(FaultyStream* stream) {
    const std::lock_guard lock(mutex_);
    std::erase(streams_, stream);
  }

 private:
  void watch() {
    while (!over_) {
      const uint32_t seen = faults_->version();
      tell();
      faults_->wait(seen, Deadline::max());
    }
    ended_ = true;
  }
  void tell();

  const std::shared_ptr<const SharedNetworkFaults> faults_;
  std::mutex mutex_;
  std::vector<FaultyStream*> streams_;
  std::atomic<bool> over_{false}, ended_{false};
  std::thread watcher_;  // last: it uses the rest
};

// Bytes that arrived while the way was cut, or that are late, and then perhaps the end of the
// stream, which must not overtake them.
struct Held {
  std::vector<std::byte> bytes;
  size_t taken = 0;
  Status end;
  Clock::time_point due;  // the epoch: it was
};

class FaultyStream final : public net::Stream {
 public:
  FaultyStream(std::unique_ptr<net::Stream> inner, Between between,
               std::shared_ptr<Streams> streams)
      : inner_(std::move(inner)),
        between_(std::move(between)),
        breaks_(between_.breaks()),
        streams_(std::move(streams)) {
    streams_->add(this);
  }
  ~FaultyStream() override { streams_->remove(this); }

  Result<size_t> read(std::span<std::byte> into, Deadline deadline) override {
    if (!held_) {
      SHOAL_TRY(until_open({}, deadline));
      auto n = inner_->read(into, deadline);
      // Tested after the read, which may have waited through the beginning of a cut.
      const bool is_fine = !between_.is_cut() && between_.delay().count() == 0;
      if (is_fine || n.status().code() == Code::kDeadline) return n;
      hold(n, into);
    }
    if (held_->due > Clock::time_point()) {
      SHOAL_TRY(until_open(held_->due, deadline));
      gather();
    }
    return let_go(into);
  }

  Status write(std::span<const Bytes> pieces, Deadline deadline) override {
    return inner_->write(pieces, deadline);
  }
  Status flush(Deadline deadline) override { return inner_->flush(deadline); }
  bool has_input() override { return !between_.is_cut() && !holds_ && inner_->has_input(); }

  void shut_down() override {
    {
      const std::lock_guard lock(mutex_);
      is_shut_ = true;
      changed_.notify_all();
    }
    inner_->shut_down();
  }

  void faults_changed() {
    {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    }
    if (between_.breaks() != breaks_) inner_->shut_down();
  }

 private:
  void hold(const Result<size_t>& n, std::span<std::byte> from) {
    held_.emplace();
    held_->due = Clock::now() + between_.delay();
    held_->end = n.status();
    if (n.ok()) held_->bytes.assign(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(*n));
    holds_ = true;
  }

  // Takes all that arrived meanwhile along: a delay must not reduce the bandwidth.
  void gather() {
    constexpr size_t kMostBytes = size_t{16} << 20, kStep = size_t{64} << 10;
    held_->due = {};
    std::vector<std::byte>& bytes = held_->bytes;
    while (held_->end.ok() && bytes.size() < kMostBytes) {
      const size_t before = bytes.size();
      bytes.resize(before + kStep);
      const auto n = inner_->read(std::span(bytes).subspan(before), net::kNoWait);
      bytes.resize(before + (n.ok() ? *n : 0));
      if (n.status().code() == Code::kDeadline) return;
      held_->end = n.status();
    }
  }

  Result<size_t> let_go(std::span<std::byte> into) {
    const Bytes left = Bytes(held_->bytes).subspan(held_->taken);
    if (left.empty()) return held_->end;
    const size_t n = std::min(left.size(), into.size());
    std::ranges::copy(left.first(n), into.begin());
    held_->taken += n;
    if (n == left.size() && held_->end.ok()) {
      held_.reset();
      holds_ = false;
    }
    return n;
  }

  // Waits until the way is open and the bytes are due.
  Status until_open(Clock::time_point due, Deadline deadline) {
    if (due == Clock::time_point() && !between_.is_cut()) return {};
    std::unique_lock lock(mutex_);
    for (;;) {
      if (is_shut_) return Status(Code::kUnavailable, "closed the connection");
      const auto now = Clock::now();
      const bool is_cut = between_.is_cut();
      if (!is_cut && now >= due) return {};
      if (now >= deadline) return Status(Code::kDeadline, "nothing came");
      changed_.wait_until(lock, is_cut ? deadline : std::min(due, deadline));
    }
  }

  const std::unique_ptr<net::Stream> inner_;
  const Between between_;
  const uint32_t breaks_;  // before this stream
  const std::shared_ptr<Streams> streams_;
  std::optional<Held> held_;  // the reader's
  std::atomic<bool> holds_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_shut_ = false;
};

void Streams::tell() {
  const std::lock_guard lock(mutex_);
  for (FaultyStream* stream : streams_) stream->faults_changed();
}

class FaultyStreams final : public net::Decorator {
 public:
  FaultyStreams(std::shared_ptr<SharedNetworkFaults> faults, int self)
      : faults_(std::move(faults)), self_(self), streams_(std::make_shared<Streams>(faults_)) {}

  std::unique_ptr<net::Stream> wrap(std::unique_ptr<net::Stream> stream,
                                    const net::Peer& peer) const override {
    return std::make_unique<FaultyStream>(
        std::move(stream), Between{faults_, self_, faults_->number_of(peer.name)}, streams_);
  }

 private:
  const std::shared_ptr<SharedNetworkFaults> faults_;
  const int self_;
  const std::shared_ptr<Streams> streams_;
};

// A connection across a cut way must not succeed, although the handshake below did.
class FaultyTransport final : public net::Transport {
 public:
  FaultyTransport(std::unique_ptr<net::Transport> inner,
                  std::shared_ptr<SharedNetworkFaults> faults, int self)
      : inner_(std::move(inner)), faults_(std::move(faults)), self_(self) {}

  Result<std::shared_ptr<net::Channel>> connect(std::string_view address,
                                                Deadline deadline) override {
    SHOAL_ASSIGN(auto channel, inner_->connect(address, deadline));
    const int peer = faults_->number_of(channel->peer().name);
    if (faults_->until_open_both_ways(self_, peer, deadline)) return channel;
    return Status(Code::kDeadline, "did not answer in time").at(address);
  }
  Result<std::unique_ptr<net::Listener>> listen(std::string_view address) override {
    return inner_->listen(address);
  }
  Status learn(std::string_view deny_list) override { return inner_->learn(deny_list); }

 private:
  const std::unique_ptr<net::Transport> inner_;
  const std::shared_ptr<SharedNetworkFaults> faults_;
  const int self_;
};

}  // namespace

std::shared_ptr<const net::Decorator> make_faulty_streams(
    std::shared_ptr<SharedNetworkFaults> faults, int self) {
  return std::make_shared<FaultyStreams>(std::move(faults), self);
}

Result<std::unique_ptr<net::Transport>> make_faulty_transport(
    const net::Identity& identity, net::TlsOptions options,
    std::shared_ptr<SharedNetworkFaults> faults, int self) {
  options.channel.decorators.push_back(make_faulty_streams(faults, self));
  // Below TLS, which has to detect the damage.
  options.tap = [faults, self](const net::Peer& peer) -> net::Tap {
    return [faults, self, from = faults->number_of(peer.name)](std::span<std::byte> bytes) {
      if (faults->take_damage(from, self)) bytes[bytes.size() / 2] ^= std::byte{1};
    };
  };
  SHOAL_ASSIGN(auto inner, net::make_tls_transport(identity, std::move(options)));
  return std::unique_ptr<net::Transport>(
      std::make_unique<FaultyTransport>(std::move(inner), std::move(faults), self));
}

}  // namespace shoal::emulate
