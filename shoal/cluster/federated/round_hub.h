// RoundHub: directs the clients of federated rounds on a cluster. Events come in (a worker is
// ready, sent a message, is lost; time has passed), and messages come out. No threads, sockets or
// clock: a coordinator runs it in real time, a test in virtual time. Strategy, sampling and the
// order of sums are those of the simulation (federated/), so that the same clients with the same
// data learn the same weights, bit by bit.
//
// A round invites some of the clients that are ready, and ends when all of them have answered, or
// at its deadline. It counts if enough have reported; otherwise nothing changes. If the strategy
// takes partial work, clients are asked for it shortly before. Clients join and leave at any time,
// and take part from the next round on.
//
// A secret round has four phases: keys, shares, masked vectors, and unmasking
// (train/secure_sum/server.h). Each ends when all remaining clients have answered or its share of
// the time is over. A client that does not answer has dropped out.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "shoal/cluster/federated/round_messages.h"
#include "shoal/cluster/federated/secret_round.h"
#include "shoal/train/federated/federated_options.h"
#include "shoal/train/federated/scenario.h"

namespace shoal::federated_cluster {

struct HubOptions {
  federated::Options rounds = {};  // population.clients are the workers; its deadline is real
  size_t least = 1;                // reports without which a round changes nothing
  bool secret = false;             // the hub sees sums only
  double range = 1;                // as in SecureCode
  std::chrono::nanoseconds start_timeout = std::chrono::seconds(120);  // of the first round
  std::chrono::nanoseconds wait = std::chrono::seconds(60);            // for enough clients
};

// The options of a hub for these rounds, whose deadline is 600 s unless the settings have one.
HubOptions hub_options(const federated::ScenarioSettings& settings, federated::Options rounds);

// Not thread-safe. REQUIRES: time does not go back.
class RoundHub {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;

  // REQUIRES: options and course outlive this; check(options) is OK.
  RoundHub(const HubOptions& options, federated::Course& course, Time now);

  // The worker will join: the first round waits for it.
  void expect(int worker) { expected_.insert(worker); }
  // It has the network, and is sent the recipe. It takes part once it reports that it is ready.
  void join(int worker, Time now);
  // It is gone, or refuses to learn.
  void lose(int worker, Time now);
  // Handles a worker's message. An invalid one drops the worker: see take_dropped().
  void handle(int worker, std::span<const std::byte> message, Time now);
  void tick(Time now);
  void stop();  // ends the run at once

  struct Letter {
    int worker = 0;
    Bytes message;
  };
  std::vector<Letter> take_letters() { return std::exchange(letters_, {}); }
  std::vector<int> take_dropped() { return std::exchange(dropped_, {}); }
  std::vector<federated::RoundReport> take_reports() { return std::exchange(reports_, {}); }

  // When tick() should be called if nothing else happens; at once if that time has passed.
  Time next_tick() const;
  bool is_over() const { return over_; }
  Status status() const { return status_; }  // kUnavailable without enough clients for too long

 private:
  struct Client {
    bool is_ready = false;
    int64_t magnitude = 1;
  };
  struct Round {
    federated::RoundReport report = {};
    Time began = {};
    std::vector<int> seats = {};    // the invited, in order
    std::set<int> awaited = {};     // those that have not answered
    std::optional<Time> call = {};  // when partial work is asked for
    Time until = {};                // the end of the phase
    std::map<int, UpdateMessage> updates = {};
    std::optional<SecretRound> secret = {};
  };

  Status take(int worker, const ToServer& message, size_t bytes, Time now);
  Status take(int worker, const JoinedMessage& message, Time now);
  Status take(int worker, UpdateMessage message);
  Status take(int worker, const SecretReply& message);
  void advance(Time now);
  bool may_begin(Time now);
  void begin_round(Time now);
  Status begin_secret(Round& round);
  void call_for_work();
  void close_phase(Time now);
  void end_round(Time now);
  Status merge(Round& round) const;
  void end_run(const Status& status);
  Time at(const Round& round, double share) const;
  void send(int worker, const ToClient& message);
  void drop(int worker, Time now);

  const HubOptions& options_;
  federated::Course& course_;
  const Time began_;
  std::map<int, Client> clients_;
  std::set<int> expected_;
  std::optional<Round> round_;
  std::optional<Time> waiting_since_;  // for enough clients
  std::vector<Letter> letters_;
  std::vector<int> dropped_;
  std::vector<federated::RoundReport> reports_;
  bool over_ = false;
  Status status_;
};

// kUnsupported and kInvalidArgument as federated::check() and check_secret(); also for a deadline
// that never comes, codecs, and more required reports than clients.
Status check(const HubOptions& options);

}  // namespace shoal::federated_cluster
