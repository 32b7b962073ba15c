// Network: connections between simulated machines. Bytes take time, and can be held back, cut off
// and lost with a machine. Everything above the byte stream is production code: frames, heartbeats,
// backpressure.
//
// Not locked: only one thread runs at a time, and none is interrupted in here.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scheduler.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::simulation {

struct Speed {
  Nanos latency = kMillisecond;
  Nanos jitter = 0;                    // at most this much more, drawn for each write
  double bytes_per_second = 1e8;       // of each connection and direction
  size_t capacity = size_t{64} << 10;  // bytes on their way before a sender has to wait
};

class Connection;
class Port;

class Network {
 public:
  explicit Network(Speed speed) : speed_(speed) {}

  // The transport of the calling machine, which also sends its heartbeats.
  std::unique_ptr<net::Transport> transport(std::string name, net::Role role,
                                            const net::ChannelOptions& options);

  // Bytes from `from` reach `to` at this time at the earliest, in existing and new connections.
  void hold_back(int from, int to, Nanos until);
  // Breaks all connections between two machines.
  void break_between(int one, int other);
  // A machine is gone. Quietly: without notice, as when its power is cut. Otherwise its connections
  // are closed, as the kernel of a killed process does.
  void lose(int machine, bool quietly);
  // A machine has been started again: it does not know the connections that it had.
  void restart(int machine);

 private:
  friend class Connection;
  friend class Port;
  friend class Member;

  Nanos due(int from, int to, Nanos arrival) const;  // not before it is let through

  const Speed speed_;
  std::map<std::pair<int, int>, Nanos> held_back_;  // by sender and receiver
  std::vector<std::weak_ptr<Connection>> connections_;
  std::map<std::string, std::weak_ptr<Port>> ports_;  // by address
  std::map<std::string, int> gone_;                   // addresses of machines that vanished quietly
};

}  // namespace shoal::simulation
