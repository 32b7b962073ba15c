#include "network.h"

#include <algorithm>
#include <deque>

#include "shoal/cluster/net/channel/framed_channel.h"

namespace shoal::simulation {
namespace {

using net::Bytes;
using net::Deadline;

Nanos to_nanos(Deadline deadline) {
  return from_clock_of_this_machine(
      std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count());
}

Status gone() { return Status(Code::kUnavailable, "closed the connection"); }

}  // namespace

// Two directions. Each end belongs to a machine.
class Connection {
 public:
  Connection(Network& network, int one, int other)
      : network_(network), ways_{Way(one, other), Way(other, one)} {}

  bool is_between(int one, int other) const {
    return (ways_[0].from == one && ways_[0].to == other) ||
           (ways_[0].from == other && ways_[0].to == one);
  }
  bool is_of(int machine) const { return ways_[0].from == machine || ways_[0].to == machine; }

  Result<size_t> read(size_t way, std::span<std::byte> into, Deadline deadline);
  Status write(size_t way, std::span<const Bytes> pieces, Deadline deadline);
  bool has_input(size_t way) const { return is_due(ways_[way]); }

  // The end that writes into `way` is closed: the other one learns of it as of any message.
  void shut(size_t way);
  void break_off();  // both ends notice at once

 private:
  struct Chunk {
    Nanos arrival = 0;
    std::vector<std::byte> bytes;
    size_t read = 0;
  };
  struct Way {
    Way(int sender, int receiver) : from(sender), to(receiver) {}
    int from, to;
    std::deque<Chunk> chunks;
    size_t held = 0;         // bytes
    Nanos last_arrival = 0;  // nothing overtakes
    Nanos end = kNever;      // arrival of the end
    bool broken = false;     // for both sides, at once
  };

  bool is_due(const Way& way) const {
    return !way.chunks.empty() &&
           network_.due(way.from, way.to, way.chunks.front().arrival) <= now();
  }
  Nanos arrival_of(Way& way, size_t bytes);
  bool is_full(const Way& way) const { return way.held >= network_.speed_.capacity; }
  size_t take(Way& way, std::span<std::byte> into) const;

  Network& network_;
  Way ways_[2];
};

Result<size_t> Connection::read(size_t number, std::span<std::byte> into, Deadline deadline) {
  const Uninterrupted alone;
  Way& way = ways_[number];
  const Nanos until = to_nanos(deadline);
  for (;;) {
    if (way.broken) return gone();
    if (is_due(way)) return take(way, into);
    const Nanos next = !way.chunks.empty() ? way.chunks.front().arrival : way.end;
    const Nanos due = next == kNever ? kNever : network_.due(way.from, way.to, next);
    if (way.chunks.empty() && due <= now()) return gone();
    if (until <= now()) return Status(Code::kDeadline, "nothing came");
    wait(&way, std::min(until, due), "waits for bytes");
  }
}

size_t Connection::take(Way& way, std::span<std::byte> into) const {
  const bool has_writers = is_full(way);  // that wait
  Chunk& chunk = way.chunks.front();
  const size_t n = std::min(into.size(), chunk.bytes.size() - chunk.read);
  std::copy_n(chunk.bytes.begin() + static_cast<ptrdiff_t>(chunk.read), n, into.begin());
  chunk.read += n;
  way.held -= n;
  if (chunk.read == chunk.bytes.size()) way.chunks.pop_front();
  if (has_writers) wake(&way.held, INT32_MAX);
  return n;
}

Nanos Connection::arrival_of(Way& way, size_t bytes) {
  const Speed& speed = network_.speed_;
  const auto transmission =
      static_cast<Nanos>(static_cast<double>(bytes) / speed.bytes_per_second * 1e9);
  const Nanos jitter =
      speed.jitter > 0 ? static_cast<Nanos>(draw(static_cast<uint64_t>(speed.jitter))) : 0;
  way.last_arrival = std::max(way.last_arrival, now() + speed.latency + jitter) + transmission;
  return way.last_arrival;
}

Status Connection::write(size_t number, std::span<const Bytes> pieces, Deadline deadline) {
  const Uninterrupted alone;
  Way& way = ways_[number];
  const Nanos until = to_nanos(deadline);
  for (;;) {
    if (way.broken || way.end != kNever) return gone();
    if (!is_full(way)) break;
    if (until <= now()) return Status(Code::kDeadline, "does not read what is sent");
    wait(&way.held, until, "waits for room to write");
  }
  Chunk chunk;
  for (Bytes piece : pieces) chunk.bytes.insert(chunk.bytes.end(), piece.begin(), piece.end());
  if (chunk.bytes.empty()) return {};
  way.held += chunk.bytes.size();
  chunk.arrival = arrival_of(way, chunk.bytes.size());
  way.chunks.push_back(std::move(chunk));
  wake(&way, INT32_MAX);
  return {};
}

void Connection::shut(size_t number) {
  const Uninterrupted alone;
  Way& way = ways_[number];
  if (way.end == kNever) way.end = arrival_of(way, 0);
  // Whoever reads or writes on this side returns at once.
  Way& back = ways_[1 - number];
  back.broken = true;
  for (const void* address :
       {static_cast<const void*>(&way), static_cast<const void*>(&way.held),
        static_cast<const void*>(&back), static_cast<const void*>(&back.held)}) {
    wake(address, INT32_MAX);
  }
}

void Connection::break_off() {
  for (Way& way : ways_) {
    way.broken = true;
    wake(&way, INT32_MAX);
    wake(&way.held, INT32_MAX);
  }
}

namespace {

// One end of a connection: reads one way and writes the other.
class End final : public net::Stream {
 public:
  End(std::shared_ptr<Connection> connection, size_t out)
      : connection_(std::move(connection)), out_(out) {}
  ~End() override { End::shut_down(); }

  Result<size_t> read(std::span<std::byte> into, Deadline deadline) override {
    return connection_->read(1 - out_, into, deadline);
  }
  Status write(std::span<const Bytes> pieces, Deadline deadline) override {
    return connection_->write(out_, pieces, deadline);
  }
  Status flush(Deadline) override { return {}; }
  bool has_input() override { return connection_->has_input(1 - out_); }
  void shut_down() override { connection_->shut(out_); }

 private:
  const std::shared_ptr<Connection> connection_;
  const size_t out_;
};

}  // namespace

// A machine's listening address, and its connections.
class Port {
 public:
  Port(int machine, std::string name, net::Role role)
      : machine_(machine), name_(std::move(name)), role_(role) {}

  struct Arrival {
    std::unique_ptr<net::Stream> stream;
    net::Peer peer;
  };

  void push(Arrival arrival) {
    arrivals_.push_back(std::move(arrival));
    wake(this, INT32_MAX);
  }
  Result<Arrival> pop(Deadline deadline) {
    const Uninterrupted alone;
    const Nanos until = to_nanos(deadline);
    while (!closed_ && arrivals_.empty()) {
      if (!wait(this, until, "waits for connections")) {
        return Status(Code::kDeadline, "nobody connected");
      }
    }
    if (closed_) return Status(Code::kUnavailable, "listener is closed");
    Arrival first = std::move(arrivals_.front());
    arrivals_.pop_front();
    return first;
  }
  void close() {
    closed_ = true;
    arrivals_.clear();
    wake(this, INT32_MAX);
  }

  bool is_open() const { return !closed_ && !is_dead(machine_); }
  int machine() const { return machine_; }
  net::Peer peer(std::string address) const { return {name_, std::move(address), role_}; }

 private:
  const int machine_;
  const std::string name_;
  const net::Role role_;
  std::deque<Arrival> arrivals_;
  bool closed_ = false;
};

namespace {

class Door final : public net::Listener {
 public:
  Door(std::shared_ptr<Port> port, std::string address, net::ChannelOptions options,
       std::shared_ptr<net::HeartbeatTimer> heartbeats)
      : port_(std::move(port)),
        address_(std::move(address)),
        options_(std::move(options)),
        heartbeats_(std::move(heartbeats)) {}
  ~Door() override { Door::close(); }

  Result<std::shared_ptr<net::Channel>> accept(Deadline deadline) override {
    SHOAL_ASSIGN(Port::Arrival arrival, port_->pop(deadline));
    return std::shared_ptr<net::Channel>(std::make_shared<net::FramedChannel>(
        std::move(arrival.stream), std::move(arrival.peer), options_, heartbeats_));
  }
  std::string address() const override { return address_; }
  void close() override { port_->close(); }

 private:
  const std::shared_ptr<Port> port_;
  const std::string address_;
  const net::ChannelOptions options_;
  const std::shared_ptr<net::HeartbeatTimer> heartbeats_;
};

}  // namespace

class Member final : public net::Transport {
 public:
  Member(Network& network, std::string name, net::Role role, net::ChannelOptions options)
      : network_(network),
        name_(std::move(name)),
        role_(role),
        options_(std::move(options)),
        heartbeats_(std::make_shared<net::HeartbeatTimer>(options_.beat)) {}

  Result<std::shared_ptr<net::Channel>> connect(std::string_view address,
                                                Deadline deadline) override {
    std::string where(address);
    SHOAL_ASSIGN(const std::shared_ptr<Port> port, reach(where, to_nanos(deadline)));
    std::unique_ptr<net::Stream> here;
    {
      const Uninterrupted alone;
      auto connection = std::make_shared<Connection>(network_, this_machine(), port->machine());
      network_.connections_.push_back(connection);
      here = std::make_unique<End>(connection, 0);
      port->push({std::make_unique<End>(connection, 1), net::Peer{name_, "", role_}});
    }
    return std::shared_ptr<net::Channel>(std::make_shared<net::FramedChannel>(
        std::move(here), port->peer(where), options_, heartbeats_));
  }

  Result<std::unique_ptr<net::Listener>> listen(std::string_view address) override {
    std::string where(address);
    std::shared_ptr<Port> port;
    {
      const Uninterrupted alone;
      port = std::make_shared<Port>(this_machine(), name_, role_);
      network_.ports_[where] = port;
      network_.gone_.erase(where);
    }
    return std::unique_ptr<net::Listener>(
        std::make_unique<Door>(std::move(port), std::move(where), options_, heartbeats_));
  }

 private:
  // The port at an address, after the time that a handshake takes.
  Result<std::shared_ptr<Port>> reach(const std::string& where, Nanos until) const;

  Network& network_;
  const std::string name_;
  const net::Role role_;
  const net::ChannelOptions options_;
  const std::shared_ptr<net::HeartbeatTimer> heartbeats_;
};

// As TCP does it: a machine that is not there is tried again after 1, 3 and 7 seconds.
Result<std::shared_ptr<Port>> Member::reach(const std::string& where, Nanos until) const {
  const Uninterrupted alone;
  const int self = this_machine();
  const Nanos begin = now();
  for (Nanos pause = kSecond; network_.gone_.contains(where); pause *= 2) {
    sleep_until(std::min(until, begin + 2 * pause - kSecond));
    if (now() >= until) return Status(Code::kDeadline, where + ": does not answer");
  }
  const auto find = [&] {
    const auto it = network_.ports_.find(where);
    return it == network_.ports_.end() ? nullptr : it->second.lock();
  };
  Nanos done = now() + 2 * network_.speed_.latency;
  if (const auto port = find()) {
    done = std::max(network_.due(self, port->machine(), done),
                    network_.due(port->machine(), self, done));
  }
  sleep_until(std::min(done, until));
  if (done > until) return Status(Code::kDeadline, where + ": does not answer");
  std::shared_ptr<Port> port = find();
  if (port != nullptr && port->is_open()) return port;
  return Status(Code::kUnavailable, where + ": nobody listens there");
}

std::unique_ptr<net::Transport> Network::transport(std::string name, net::Role role,
                                                   const net::ChannelOptions& options) {
  return std::make_unique<Member>(*this, std::move(name), role, options);
}

Nanos Network::due(int from, int to, Nanos arrival) const {
  const auto held = held_back_.find({from, to});
  return held == held_back_.end() ? arrival : std::max(arrival, held->second);
}

void Network::hold_back(int from, int to, Nanos until) { held_back_[{from, to}] = until; }

void Network::break_between(int one, int other) {
  for (const auto& weak : connections_) {
    if (const auto connection = weak.lock(); connection && connection->is_between(one, other)) {
      connection->break_off();
    }
  }
}

void Network::lose(int machine, bool quietly) {
  if (!quietly) return restart(machine);
  for (const auto& [address, port] : ports_) {
    const auto its = port.lock();
    if (its != nullptr && its->machine() == machine) gone_[address] = machine;
  }
}

void Network::restart(int machine) {
  for (const auto& weak : connections_) {
    if (const auto connection = weak.lock(); connection && connection->is_of(machine)) {
      connection->break_off();
    }
  }
}

}  // namespace shoal::simulation
