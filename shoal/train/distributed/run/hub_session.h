// HubSession: the hub's part of a training run, between messages: the decisions (Hub), the sums
// (Merger), and a replica that every worker must be equal to and gets its state from. No I/O, as
// WorkerSession.
//
// A checkpoint is made between two steps. It has the trainer, the hub's codec, and the codec of
// every worker, which each sends between two steps. A run resumed from it learns, bit by bit, what
// the undisturbed one learns, if its shares are the same (HubOptions::fixed_shares, whose plan is
// in the checkpoint, or an exact codec) and it waits for all workers of the checkpoint
// (workers_in()).
//
// Statistics of norms travel only in the last steps before a checkpoint and before the end, and are
// the means of these steps. Nothing that is learned depends on them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shoal/train/distributed/exchange/merger.h"
#include "shoal/train/distributed/exchange/replica.h"
#include "shoal/train/distributed/hub/hub.h"
#include "shoal/train/distributed/run/hub_messages.h"

namespace shoal::learn {

// Not thread-safe.
class HubSession {
 public:
  using Time = Hub::Time;
  // The factor of the learning rate in a step.
  using Rate = std::function<double(int64_t step)>;
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;

  // `network` is for one micro-batch; options.levels are the exchange's. Fails as Replica.
  static Result<HubSession> create(
      Device& device, const Graph& network, const train::TrainerOptions& options,
      const ExchangeOptions& exchange, HubOptions hub, Rate rate = [](int64_t) { return 1.0; });

  void join(int worker, Time now);
  void lose(int worker, Time now);
  void tick(Time now);
  // Ends the run after this step, or after the next if statistics have to be measured.
  void stop();
  // Handles a message of a worker. A worker that breaks the protocol is dropped: see
  // take_dropped().
  void handle(int worker, std::span<const std::byte> message, Time now);

  struct Letter {
    int worker = 0;
    Bytes message;  // a broadcast is one message to all
    // For an assignment: the sender of the examples reads it, too.
    std::optional<AssignMessage> assigned;
  };
  std::vector<Letter> take_letters() { return std::exchange(letters_, {}); }
  std::vector<int> take_dropped() { return std::exchange(dropped_, {}); }  // channels to close

  std::optional<Time> next_tick() const { return hub_.next_tick(); }
  bool is_over() const { return hub_.is_over() || !status_.ok(); }
  Status status() const { return status_; }  // kUnavailable without workers for too long
  int64_t step() const { return hub_.step(); }
  const std::vector<double>& losses() const { return losses_; }  // of the steps in this process
  // By step: the longest computing time that a worker reported.
  const std::vector<double>& computed_seconds() const { return computed_seconds_; }
  int64_t differing() const { return differing_; }  // times that a worker's weights differed
  const DeviceTable& devices() const { return hub_.devices(); }
  const Replica& replica() const { return replica_; }
  // Whether the statistics of norms match the weights, as they do after the last step.
  bool has_statistics() const { return has_statistics_; }
  uint64_t hash() const { return hash_of_learned(replica_.trainer()); }

  // Makes a checkpoint when the first step begins, which keeps its plan, and after every n steps,
  // or more if a worker takes longer to send its part; 0: none. A worker lost meanwhile has no part
  // in it; if all parts are `needed`, the checkpoint is given up instead.
  void save_every(int64_t steps, bool needed = false) {
    save_every_ = steps;
    needs_all_parts_ = needed;
  }
  // The last checkpoint, once all workers have sent their parts; nullopt if none was made since the
  // last call.
  using State = std::map<std::string, Tensor>;
  std::optional<State> take_checkpoint() { return std::exchange(checkpoint_, std::nullopt); }
  // kCorrupt for a state of another run. REQUIRES: no event has happened yet.
  Status restore(const State& state);
  // The workers at the time of a checkpoint.
  static std::vector<int> workers_in(const State& state);
  // Norms of the carried errors of lost workers: gradients that are lost with them.
  const std::vector<double>& lost_norms() const { return lost_norms_; }

 private:
  HubSession(Replica replica, Merger merger, const HubOptions& hub, Rate rate,
             const ExchangeOptions& exchange, int64_t averaged_steps)
      : exchange_(exchange),
        hub_(hub),
        replica_(std::move(replica)),
        merger_(std::move(merger)),
        rate_(std::move(rate)),
        averaged_steps_(averaged_steps) {}
  Status take(int worker, const ToHub& message, Time now);
  Status take_push(int worker, const PushMessage& push, Time now);
  Status take_applied(int worker, const AppliedMessage& applied, Time now);
  Status take_saved(int worker, const SavedMessage& saved);
  void begin_checkpoint(int64_t step);
  void forget(int worker);
  void finish_checkpoint();
  void send(int worker, const ToWorker& message);
  void send_state(const HubAction& action);
  void drop(int worker, Time now);
  void carry_out();
  Status merge(int64_t step);

  AssignMessage assignment_of(const HubAction& action) const;
  void begin_step(int64_t step);
  StatisticsUse statistics_in(int64_t step) const;

  ExchangeOptions exchange_;
  Hub hub_;
  Replica replica_;
  Merger merger_;
  Rate rate_;
  std::map<int64_t, uint64_t> hashes_;  // after the last steps
  std::vector<double> losses_;
  std::vector<double> computed_seconds_;
  double longest_ = 0;  // of this step
  // Of this step, if set; and the steps whose statistics are averaged.
  std::optional<std::pair<int64_t, StatisticsUse>> statistics_;
  int64_t averaged_steps_ = 1;
  bool has_statistics_ = false;
  bool stopped_ = false;
  int64_t differing_ = 0;
  struct Saving {
    int64_t step = 0;
    State state = {};
    std::set<int> awaited = {};  // workers
  };
  int64_t save_every_ = 0;
  bool needs_all_parts_ = false;
  std::optional<int64_t> saved_ = {};  // the step of the last checkpoint
  std::optional<Saving> saving_;
  std::optional<State> checkpoint_;
  std::map<int, State> codecs_;    // of a checkpoint, for workers that are still to get them
  std::map<int, double> carried_;  // norms, by worker
  std::vector<double> lost_norms_;
  std::vector<Letter> letters_;
  std::vector<int> dropped_;
  Status status_;
};

}  // namespace shoal::learn
