// A training run on the workers of a cluster, with the coordinator as hub: learn::HubSession
// decides, run_task() (coordinator/runtime/task_run.h) sends and receives.
//
//   register   the worker is given its setup, compiles it and says so; then it is sent the state
//   step       examples and assignment to each worker, gradients back, the merged step to all
//   good-bye   when all steps are done
//
// A worker that is lost, or fails, costs its part of the step, which others compute again. When it
// is back, it is given its setup and the state, and takes part from the next step on. A hub that is
// lost resumes from its last checkpoint (TrainingRunOptions::resume). So it does if weights must be
// the same bit by bit whichever worker is lost, with any codec (TrainingRunOptions::repeats).
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shoal/cluster/coordinator/runtime/coordinator.h"
#include "shoal/cluster/data_parallel/training_setup.h"
#include "shoal/train/distributed/run/hub_session.h"
#include "shoal/train/distributed/run/run_record.h"
#include "shoal/train/distributed/run/worker_session.h"

namespace shoal::cluster {

// The state of a run at the end of a step, or when a worker is lost or back.
struct TrainingMoment {
  bool is_step = false;
  learn::StepFacts step = {};  // that has ended, or is computed
  const learn::HubSession& hub;
};

struct TrainingRunOptions {
  learn::HubOptions hub = {};
  learn::HubSession::Rate rate = [](int64_t) { return 1.0; };
  std::vector<int> workers = {};                     // that take part
  std::chrono::milliseconds start_timeout{120'000};  // until the first worker is ready
  // How long the first step waits for workers that are lost when the run begins.
  std::chrono::milliseconds return_timeout{0};
  // Steps whose examples are sent before the first begins, as far as `most_ahead_bytes` per worker
  // allows. Other examples are sent with their step.
  int64_t ahead = 0;
  size_t most_ahead_bytes = size_t{256} << 20;
  // A checkpoint is made after every `save_every` steps, and given to on_checkpoint; 0: none.
  int64_t save_every = 0;
  std::function<Status(const learn::HubSession::State&)> on_checkpoint =
      [](const learn::HubSession::State&) { return Status(); };
  learn::HubSession::State resume = {};  // a checkpoint to go on from; empty: none
  // A lost worker loses what its codec carried over. Go back to the last checkpoint then, so that
  // all learn as if it had not been lost.
  bool repeats = false;
  // Between two attempts to reach lost workers.
  std::chrono::milliseconds retry_interval{200};
  std::function<void()> begins = [] {};  // the first step does: all that was deployed is there
  std::function<void(int64_t step, double loss)> on_step = [](int64_t, double) {};  // is done
  std::function<void(const TrainingMoment&)> on_moment = [](const TrainingMoment&) {};
  std::function<void(int worker)> on_return = [](int) {};  // one that was lost learns again
  std::function<bool()> cancelled = [] { return false; };  // asked after every step: it ends
};

struct TrainingRun {
  std::map<std::string, Tensor> learned;  // weights and statistics, by name
  uint64_t hash = 0;                      // of them
  int64_t first_step = 0;                 // that was computed here: not 0 after a checkpoint
  std::vector<double> losses;             // by step, from that on
  std::vector<double> step_seconds;       // from the merge before, or the first assignment, on
  std::vector<double> computed_seconds;   // by step: of the worker that computed the longest
  Graph network;                          // with what was learned, for one micro-batch
  // Per step, the mean of the workers present at the end, without the first step.
  double sent_bytes = 0, received_bytes = 0, example_bytes = 0;
  size_t workers = 0;                   // that had a part in the last step
  int64_t differing = 0;                // times that a replica had other weights than the hub
  std::vector<Status> lost = {};        // workers that were, and why
  std::vector<double> lost_norms = {};  // as HubSession::lost_norms()
  int64_t joined_again = 0;             // workers that were lost before, or came late
  int64_t reassigned = 0;               // micro-batches that were given to a second worker
};

// The message with which a worker begins this setup. Fails as encode_setup().
Result<TaskOutput> output_of(const TrainingSetup& setup);

// Blocks until the run is over. `source` gives the examples of a micro-batch, as tensors of
// types_of_examples(). `device` is the hub's, which computes no gradients. Fails as HubSession,
// encode_setup(), on_checkpoint and `source` do, and with the first worker's error if none can take
// part.
Result<TrainingRun> run_training(Coordinator& coordinator, Device& device,
                                 const TrainingSetup& setup,
                                 const learn::WorkerSession::Source& source,
                                 const TrainingRunOptions& options);

}  // namespace shoal::cluster
