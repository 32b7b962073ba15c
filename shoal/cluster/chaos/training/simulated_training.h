// SimulatedTraining: a training run in virtual time. The hub and its workers are the sessions of a
// real run (learn/run) and exchange the same bytes; channels, processes and the disk are simulated.
// Messages of a channel arrive in order, after random delays. The seed determines everything.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/chaos/sim_clock.h"
#include "shoal/train/distributed/run/hub_session.h"
#include "shoal/train/distributed/run/worker_session.h"

namespace shoal::chaos {

// What is learned, from what.
struct TrainingTask {
  Graph network;  // for one micro-batch
  train::TrainerOptions trainer = {};
  learn::WorkerSession::Source source;
};

struct TrainingFaults {
  int kills = 0;      // of workers, at random moments; they come back
  int hub_kills = 0;  // another hub goes on from the last checkpoint
  int damages = 0;    // merged steps that reach a worker's weights damaged
  int stalls = 0;     // messages that come late, with all behind them
};

struct SimulatedTrainingOptions {
  learn::ExchangeOptions exchange = {};
  learn::HubOptions hub = {};
  int workers = 1;
  int64_t save_every = 1;  // steps between checkpoints
  bool repeats = false;    // from the last one on where a worker is lost, as cluster::TrainingRun
  TrainingFaults faults = {};
  // The time each worker takes for a micro-batch; empty: a random one for each micro-batch.
  std::vector<Time> computing = {};
  // In each step another worker is slower by this factor. None in the first, which measures speeds.
  double straggler = 1;
  uint64_t seed = 1;
};

// What became of a run.
struct TrainingFigures {
  int64_t steps = 0;  // merged by all hubs
  int kills = 0, hub_kills = 0, damages = 0, stalls = 0;
  int64_t hub_steps_lost = 0;       // merged, and merged again by the next hub
  int64_t most_hub_steps_lost = 0;  // by one kill
  int64_t micro_batches = 0;        // computed
  int64_t differing = 0;            // times that the hub found other weights
  Time longest_recovery{0};         // from a loss that was noticed to the next merged step
};

// REQUIRES: device and task outlive it.
class SimulatedTraining {
 public:
  SimulatedTraining(Device& device, const TrainingTask& task,
                    const SimulatedTrainingOptions& options);
  ~SimulatedTraining();

  // Runs until the training is over and everything sent has arrived. Fails as the sessions do, and
  // with kInternal if the run does not end, does not do its steps, drops a worker, or a worker's
  // weights differ from the hub's at the end.
  Status run();

  const TrainingFigures& figures() const { return figures_; }
  const std::vector<double>& losses() const { return losses_; }  // of the last hub
  uint64_t hash() const { return hash_; }                        // of what was learned
  const std::vector<Time>& merges() const { return merges_; }    // when steps were merged
  // The learned weights, and the network with them. REQUIRES: run() is OK.
  std::map<std::string, Tensor> learned() const;
  Graph network() const;
  Time now() const { return clock_.now(); }

 private:
  struct Worker {
    std::unique_ptr<learn::WorkerSession> session;
    int life = 0;
    bool is_member = false;  // joined a hub that was not over
    bool is_working = false;
    double left = 0;     // of the micro-batch that it computes
    Time computing{0};   // what that takes, where it is no straggler
    Time began{0};       // when it began
    double seconds = 0;  // that it computed for its assignment
    Time since{0};       // when `left` was measured
    int64_t ticket = 0;  // of the event that ends it
    int damage = 0;      // its number, since the worker was last sent the state; 0: none
    int found = 0;       // the last damage that was reported to the hub
    Time last_in{0}, last_out{0};
  };

  learn::Hub::Time hub_now() const { return learn::Hub::Time(clock_.now()); }
  Time expected_time() const;
  Time delay(Time& last);
  void start_hub(Time delay);
  void kill_hub();
  void begin_again();
  void start(size_t i);
  void join(size_t i);
  void kill(size_t i);
  void settle_hub();
  void send_letters();
  void deliver(size_t i, std::vector<std::byte> message);
  void work(size_t i);
  void go_on_working(size_t i);
  void change_straggler();
  Time pace_of(size_t i) const;
  void answer(size_t i);
  void note_merges();
  Status check_end() const;
  void note(const Status& status);
  void fail(const std::string& what) { note(Status(Code::kInternal, what)); }

  Device& device_;
  const TrainingTask& task_;
  const SimulatedTrainingOptions options_;
  Clock clock_;
  Random random_;
  std::unique_ptr<learn::HubSession> hub_;  // none while it is dead
  int hub_life_ = 0;
  bool is_over_ = false;
  size_t merges_seen_ = 0;      // of this hub
  std::optional<size_t> slow_;  // the worker that is the straggler now
  std::vector<Time> merges_;
  std::optional<learn::HubSession::State> disk_;
  std::vector<Worker> workers_;
  int damages_left_ = 0, stalls_left_ = 0;
  std::optional<Time> lost_since_;  // a worker, without a merged step yet
  TrainingFigures figures_;
  std::vector<double> losses_;
  uint64_t hash_ = 0;
  Status problem_;
};

}  // namespace shoal::chaos
