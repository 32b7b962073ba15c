// Observes a run for its report: makes its record, and keeps copies of the weights, which are
// evaluated after the run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shoal/cluster/data_parallel/training_run.h"
#include "shoal/cluster/training/training_inputs.h"

namespace shoal::train_cluster {

// Not thread-safe.
class Observer {
 public:
  // `about`: see RunRecorder. REQUIRES: the options outlive it.
  Observer(const Options& options, learn::RunRecord about, double dilation)
      : options_(options),
        steps_(about.steps),
        parts_(options.evaluations),
        recorder_(std::move(about), dilation) {}
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // REQUIRES: it outlives the run.
  void watch(cluster::TrainingRunOptions& run);
  // The record of a run with these figures. Fails as Setup::evaluate().
  Result<learn::RunRecord> finish(const Figures& figures, Device& device, const Setup& setup) const;

 private:
  struct Snapshot {
    int64_t step = 0;
    double seconds = 0;
    std::map<std::string, Tensor> learned = {};
  };

  void take(const cluster::TrainingMoment& moment);
  void take_snapshot(const cluster::TrainingMoment& moment, double seconds);

  const Options& options_;
  const int64_t steps_;
  const int64_t parts_;  // of the run; each ends with an evaluation
  int64_t last_part_ = 0;
  learn::RunRecorder recorder_;
  std::vector<Snapshot> snapshots_;
};

}  // namespace shoal::train_cluster
