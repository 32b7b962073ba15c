// A model of TCP with heartbeats. A connection delivers in order and loses nothing while it lives;
// a blocked way holds messages back, as retransmission does, and delivers them when it opens; each
// end learns of the end of a connection on its own, after a random silence or when word arrives.
// Between the two, one end may send into a connection that the other has given up.
#include "shoal/cluster/chaos/simulated/sim_network.h"

#include <algorithm>

namespace shoal::chaos {
namespace {

using namespace std::chrono_literals;

// Time from the last sign of life to giving up, with the defaults of cluster/net/transport.h.
constexpr Time kShortestSilence = 320ms, kLongestSilence = 480ms;
constexpr Time kShortestWay = 100us, kLongestWay = 1ms;

}  // namespace

// Held messages may refer to their own connection; clearing them breaks the cycle.
Network::~Network() {
  for (const auto& one : connections_) {
    const ConnectionPtr connection = one.lock();
    if (connection == nullptr) continue;
    for (End& end : connection->ends_) end.held.clear();
  }
}

ConnectionPtr Network::connect(int from, int to) {
  const bool answers = is_alive(to) && hears(to, from) && hears(from, to);
  if (!answers) return nullptr;
  auto connection = std::make_shared<Connection>();
  connection->ends_[0].machine = from;
  connection->ends_[1].machine = to;
  std::erase_if(connections_, [](const auto& one) { return one.expired(); });
  connections_.push_back(connection);
  return connection;
}

bool Network::hears(int machine, int of) const {
  return !stopped_.contains(machine) && !stopped_.contains(of) && !blocked_.contains({of, machine});
}

bool Network::silent(int machine, int to) const {
  return stopped_.contains(machine) || blocked_.contains({machine, to});
}

bool Network::send(const ConnectionPtr& connection, int from, std::function<void()> deliver) {
  if (!connection->at(from).open) return false;
  End& to = connection->other(from);
  const auto delay = delays_.find({from, to.machine});
  const Time way = random_.between(kShortestWay, kLongestWay) +
                   (delay == delays_.end() ? Time(0) : delay->second);
  // Never before an earlier message: TCP keeps order even if a delay becomes shorter.
  to.latest = std::max(to.latest, clock_.now() + way);
  clock_.after(to.latest - clock_.now(),
               [this, connection, at = to.machine, what = std::move(deliver)] {
                 arrive(connection, at, what);
               });
  return true;
}

void Network::arrive(const ConnectionPtr& connection, int at, const std::function<void()>& what) {
  End& end = connection->at(at);
  if (!end.open || !is_alive(at)) return;
  // Behind held messages, even if the way is open again, to keep the order.
  const bool now = hears(at, connection->other(at).machine) && end.held.empty();
  if (now) {
    what();
  } else {
    end.held.push_back(what);
  }
}

void Network::close(const ConnectionPtr& connection, int by) {
  connection->at(by).closed = nullptr;
  break_off(connection, by);
}

// This end learns of it now; the other one when word arrives, if it ever does.
void Network::break_off(const ConnectionPtr& connection, int at) {
  const int other = connection->other(at).machine;
  send(connection, at, [this, connection, other] { learn_of_end(*connection, other); });
  learn_of_end(*connection, at);
}

void Network::learn_of_end(Connection& connection, int machine) {
  End& end = connection.at(machine);
  if (!std::exchange(end.open, false)) return;
  if (const auto closed = std::exchange(end.closed, nullptr)) closed();
}

void Network::kill(int machine) {
  if (!dead_.insert(machine).second) return;
  stopped_.erase(machine);
  for (const auto& one : connections_) {
    const ConnectionPtr connection = one.lock();
    if (connection == nullptr) continue;
    for (const End& end : connection->ends_) {
      if (end.machine == machine) close(connection, machine);
    }
  }
}

void Network::restart(int machine) { dead_.erase(machine); }

void Network::stop(int machine) {
  if (is_alive(machine) && stopped_.insert(machine).second) watch_for_silence();
}

void Network::go_on(int machine) {
  if (stopped_.erase(machine) > 0) flush();
}

void Network::block(int from, int to) {
  if (blocked_.emplace(from, to).second) watch_for_silence();
}

void Network::unblock(int from, int to) {
  if (blocked_.erase({from, to}) > 0) flush();
}

void Network::delay(int from, int to, Time by) { delays_[{from, to}] = by; }

void Network::cut(int a, int b) {
  for (const auto& one : std::vector(connections_)) {
    const ConnectionPtr connection = one.lock();
    if (connection == nullptr) continue;
    const std::set<int> ends = {connection->ends_[0].machine, connection->ends_[1].machine};
    if (ends != std::set{a, b} || !connection->at(a).open) continue;
    break_off(connection, a);
  }
}

// Delivers held messages wherever the way is open now. Copies, because handlers open and close
// connections.
void Network::flush() {
  for (const auto& one : std::vector(connections_)) {
    const ConnectionPtr connection = one.lock();
    if (connection == nullptr) continue;
    for (const int at : {connection->ends_[0].machine, connection->ends_[1].machine}) {
      if (!hears(at, connection->other(at).machine)) continue;
      for (const auto& what : std::exchange(connection->at(at).held, {})) {
        if (connection->at(at).open && is_alive(at)) what();
      }
    }
  }
}

void Network::watch_for_silence() {
  for (const auto& one : connections_) {
    const ConnectionPtr connection = one.lock();
    if (connection == nullptr) continue;
    for (const End& end : connection->ends_) {
      if (!silent(connection->other(end.machine).machine, end.machine) || !end.open) continue;
      const Time timeout = random_.between(kShortestSilence, kLongestSilence);
      clock_.after(timeout,
                   [this, watched = one, at = end.machine] { check_silence(watched, at); });
    }
  }
}

void Network::check_silence(const std::weak_ptr<Connection>& watched, int at) {
  const ConnectionPtr connection = watched.lock();
  if (connection == nullptr || !connection->at(at).open || !is_alive(at)) return;
  // A stopped machine notices nothing; a machine that is heard again is not given up.
  if (stopped_.contains(at) || !silent(connection->other(at).machine, at)) return;
  break_off(connection, at);
}

}  // namespace shoal::chaos
