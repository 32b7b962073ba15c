// Channels within a process. A registry maps addresses to queues of connections; everything above
// the byte stream (framing, heartbeats, backpressure) is the code of real channels.
#include "shoal/cluster/net/channel/loopback.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "shoal/cluster/net/channel/framed_channel.h"
#include "shoal/cluster/net/channel/memory_stream.h"

namespace shoal::net {
namespace {

// About the size of socket buffers, so that senders block as they do on a network.
constexpr size_t kCapacity = size_t{256} << 10;

struct Arrival {
  std::unique_ptr<Stream> stream;
  Peer peer;
};

// Connections that have not been accepted yet.
class Queue {
 public:
  bool push(Arrival arrival) {
    const std::lock_guard lock(mutex_);
    if (closed_) return false;
    arrivals_.push_back(std::move(arrival));
    changed_.notify_all();
    return true;
  }

  Result<Arrival> pop(Deadline deadline) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, deadline, [&] { return closed_ || !arrivals_.empty(); }))
      return Status(Code::kDeadline, "nobody connected");
    if (closed_) return Status(Code::kUnavailable, "listener is closed");
    Arrival arrival = std::move(arrivals_.front());
    arrivals_.pop_front();
    return arrival;
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    arrivals_.clear();
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  std::deque<Arrival> arrivals_;
};

}  // namespace

class LoopbackNetwork::Registry {
 public:
  Result<std::shared_ptr<Queue>> add(std::string address, const Peer& owner) {
    const std::lock_guard lock(mutex_);
    auto [at, added] = doors_.try_emplace(std::move(address));
    if (!added) return invalid("address \"" + at->first + "\" is taken");
    at->second = {std::make_shared<Queue>(), owner};
    return at->second.queue;
  }

  void remove(const std::string& address) {
    const std::lock_guard lock(mutex_);
    doors_.erase(address);
  }

  // Hands the connection to the listener at the address, and returns its peer.
  Result<Peer> knock(const std::string& address, Arrival arrival) {
    const std::lock_guard lock(mutex_);
    const auto at = doors_.find(address);
    if (at == doors_.end() || !at->second.queue->push(std::move(arrival)))
      return Status(Code::kUnavailable, address + ": nobody listens there");
    return at->second.owner;
  }

 private:
  struct Open {
    std::shared_ptr<Queue> queue;
    Peer owner;
  };
  std::mutex mutex_;
  std::map<std::string, Open> doors_;
};

class LoopbackNetwork::Door final : public Listener {
 public:
  Door(std::shared_ptr<Registry> registry, std::shared_ptr<Queue> queue, std::string address,
       ChannelOptions options, std::shared_ptr<HeartbeatTimer> heartbeats)
      : registry_(std::move(registry)),
        queue_(std::move(queue)),
        address_(std::move(address)),
        options_(std::move(options)),
        heartbeats_(std::move(heartbeats)) {}
  ~Door() override { Door::close(); }

  Result<std::shared_ptr<Channel>> accept(Deadline deadline) override {
    SHOAL_ASSIGN(Arrival arrival, queue_->pop(deadline));
    return std::shared_ptr<Channel>(std::make_shared<FramedChannel>(
        std::move(arrival.stream), std::move(arrival.peer), options_, heartbeats_));
  }
  std::string address() const override { return address_; }
  void close() override {
    queue_->close();
    // The address is free for another listener at once, as a port is.
    registry_->remove(address_);
  }

 private:
  const std::shared_ptr<Registry> registry_;
  const std::shared_ptr<Queue> queue_;
  const std::string address_;
  const ChannelOptions options_;
  const std::shared_ptr<HeartbeatTimer> heartbeats_;
};

class LoopbackNetwork::Member final : public Transport {
 public:
  Member(std::shared_ptr<Registry> registry, Peer self, ChannelOptions options)
      : registry_(std::move(registry)),
        self_(std::move(self)),
        options_(std::move(options)),
        heartbeats_(std::make_shared<HeartbeatTimer>(options_.beat)) {}

  Result<std::shared_ptr<Channel>> connect(std::string_view address, Deadline) override {
    // Each end owns its stream: the other one learns of the end when it is destroyed.
    auto [here, there] = make_memory_streams(kCapacity);
    const std::string where(address);
    SHOAL_ASSIGN(Peer who, registry_->knock(where, {std::move(there), self_}));
    who.address = where;
    return std::shared_ptr<Channel>(
        std::make_shared<FramedChannel>(std::move(here), std::move(who), options_, heartbeats_));
  }

  Result<std::unique_ptr<Listener>> listen(std::string_view address) override {
    std::string where(address);
    SHOAL_ASSIGN(auto queue, registry_->add(where, self_));
    return std::unique_ptr<Listener>(std::make_unique<Door>(
        registry_, std::move(queue), std::move(where), options_, heartbeats_));
  }

 private:
  const std::shared_ptr<Registry> registry_;
  const Peer self_;
  const ChannelOptions options_;
  const std::shared_ptr<HeartbeatTimer> heartbeats_;
};

LoopbackNetwork::LoopbackNetwork() : registry_(std::make_shared<Registry>()) {}

std::unique_ptr<Transport> LoopbackNetwork::transport(std::string name, ChannelOptions options,
                                                      Role role) {
  return std::make_unique<Member>(registry_, Peer{std::move(name), "", role}, std::move(options));
}

}  // namespace shoal::net
