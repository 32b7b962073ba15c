// TrainChaos: worker processes of this machine train a network together, while they are killed with
// SIGKILL at seeded moments and restarted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/base/timing/latency_recorder.h"
#include "shoal/cluster/chaos/verdict.h"
#include "shoal/cluster/data_parallel/training_setup.h"
#include "shoal/engine/device/device.h"
#include "shoal/train/distributed/run/worker_session.h"

namespace shoal::chaos {

struct TrainChaosOptions {
  std::filesystem::path program = {};  // started as `program worker ...`: the binary `shoal`
  size_t workers = 3;
  size_t kills = 10;
  uint64_t seed = 1;
  double hang_seconds = 60;  // without a step, after which the run counts as hung
  std::function<void(size_t kills, int64_t steps)> on_kill = [](size_t, int64_t) {};
};

struct TrainChaosReport {
  size_t kills = 0, hangs = 0;
  int64_t steps = 0;
  int64_t joined_again = 0;        // workers that came back and had their setup again
  LatencyRecorder next_step;       // from a kill to the next merged step
  double calm_step_ms = 0;         // the median, without kills
  int64_t redone = 0;              // micro-batches that were given to another worker
  int64_t micro_batches = 0;       // of a step
  int64_t differing = 0;           // times that a replica had other weights than the hub
  double lost_norm = 0;            // of what killed workers carried along, the greatest
  double loss = 0, calm_loss = 0;  // of the last step
  bool is_equal = false;           // the weights equal those of the same steps without kills

  // The part of the steps' work that was computed again.
  double steps_lost() const;
  // `exact`: the codec loses nothing, so that kills must not change what was learned.
  Verdict verdict(bool exact) const;
};

Facts facts_of(const TrainChaosReport& report);

inline constexpr int64_t kMicroBatch = 4;  // samples of a micro-batch

// The training setup of a network.
cluster::TrainingSetup chaos_setup(Graph network, learn::CodecKind codec, uint64_t seed);

// Examples for any classifier: noise, with a bright band whose position depends on the class.
Result<learn::WorkerSession::Source> synthetic_examples(const cluster::TrainingSetup& setup);

// Trains until enough kills have happened, and then the same steps without any. `device` is the
// hub's. Fails if no cluster can be opened. REQUIRES: as ChaosCluster
Result<TrainChaosReport> run_train_chaos(const TrainChaosOptions& options, Device& device,
                                         const cluster::TrainingSetup& setup,
                                         const learn::WorkerSession::Source& source);

}  // namespace shoal::chaos
