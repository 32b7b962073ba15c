// Network: connections in virtual time that keep the order of messages, and the faults that can
// happen to them. A peer that is silent for too long is given up, as
// cluster/net/channel/framed_channel.h does.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "shoal/cluster/chaos/simulated/sim_clock.h"

namespace shoal::chaos {

// Workers count from 0.
inline constexpr int kCoordinator = -1;

// A connection between two machines, until one of them or the way between them fails.
class Connection {
 public:
  // Called when the machine at this end learns that it is broken; not if it broke it itself.
  void when_closed(int machine, std::function<void()> what) {
    at(machine).closed = std::move(what);
  }
  bool is_open(int machine) { return at(machine).open; }

 private:
  friend class Network;
  struct End {
    int machine = 0;
    bool open = true;
    Time latest{0};                                // that anything arrives here
    std::vector<std::function<void()>> held = {};  // while it hears nothing
    std::function<void()> closed = nullptr;
  };
  End& at(int machine) { return ends_[ends_[0].machine == machine ? 0 : 1]; }
  End& other(int machine) { return ends_[ends_[0].machine == machine ? 1 : 0]; }

  End ends_[2];
};
using ConnectionPtr = std::shared_ptr<Connection>;

class Network {
 public:
  Network(Clock& clock, Random& random) : clock_(clock), random_(random) {}
  ~Network();  // drops messages that never arrived
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  ConnectionPtr connect(int from, int to);  // null if the machine does not answer
  // False where it is known here to be broken. Otherwise it arrives, if it arrives, in order.
  bool send(const ConnectionPtr& connection, int from, std::function<void()> deliver);
  void close(const ConnectionPtr& connection, int by);

  // Faults.
  void kill(int machine);     // and its connections break
  void restart(int machine);  // without any
  void stop(int machine);     // it neither hears nor speaks, and its connections stay
  void go_on(int machine);
  void block(int from, int to);  // nothing arrives that way; it is sent again when it can
  void unblock(int from, int to);
  void cut(int a, int b);                 // all connections between them break
  void delay(int from, int to, Time by);  // messages sent this way arrive later by this much

  bool is_alive(int machine) const { return !dead_.contains(machine); }
  bool is_stopped(int machine) const { return stopped_.contains(machine); }

 private:
  using End = Connection::End;

  bool hears(int machine, int of) const;
  bool silent(int machine, int to) const;
  void arrive(const ConnectionPtr& connection, int at, const std::function<void()>& what);
  void break_off(const ConnectionPtr& connection, int at);
  void learn_of_end(Connection& connection, int machine);
  void watch_for_silence();
  void check_silence(const std::weak_ptr<Connection>& watched, int at);
  void flush();

  Clock& clock_;
  Random& random_;
  std::set<int> dead_, stopped_;
  std::set<std::pair<int, int>> blocked_;       // from, to
  std::map<std::pair<int, int>, Time> delays_;  // likewise
  std::vector<std::weak_ptr<Connection>> connections_;
};

}  // namespace shoal::chaos
