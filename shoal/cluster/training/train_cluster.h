// Trains a network on the workers of a cluster, as `shoal train --cluster` does: opens model and
// data, asks the scheduler which workers to use, and lets the coordinator be the hub.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/data_parallel/training_run.h"
#include "shoal/cluster/device/cluster_connection.h"
#include "shoal/engine/session/model.h"
#include "shoal/train/distributed/exchange/step_codec.h"
#include "shoal/train/distributed/run/run_record.h"
#include "shoal/train/distributed/run/together_settings.h"
#include "shoal/train/distributed/schedule/training_scheduler.h"
#include "shoal/train/run/evaluation/evaluation.h"
#include "shoal/train/run/setup/training_data.h"
#include "shoal/train/run/setup/training_options.h"

namespace shoal::train_cluster {

struct Options {
  fit::TrainingOptions fit = {};  // of the network, the data and the optimiser
  int64_t steps = 0;              // 0: as many as the epochs have
  int levels = 3;                 // 2^levels micro-batches, of which shares consist
  // Steps that each worker takes by itself before they exchange what they learned; the merged
  // difference is followed by the outer rule (learn::Replica). 1: every step is exchanged.
  int64_t local_steps = 1;
  learn::OuterRule outer = {.rate = 0.7f, .momentum = 0.9f};
  // Nothing: that with the shortest step, of those that lose little.
  std::optional<learn::CodecKind> codec = learn::CodecKind::kF32;
  bool keep_awake = true;  // radios, for as long as training takes
  // Send the examples of all steps before the first, as far as memory goes.
  bool ahead = false;
  // Use all workers, also where one alone is as fast.
  bool all_workers = false;
  // Shares that stay as they are planned at the beginning, of all workers, so that what a codec
  // that loses something or local steps learn does not depend on speeds. Nothing: where there are
  // such and a checkpoint, which a run is to go on from to the same weights.
  std::optional<bool> fixed_shares = {};
  double slack = 0;  // as in HubOptions
  std::function<void(const std::string&)> on_note = [](const std::string&) {};
  std::function<void()> begins = [] {};  // the first step
  std::function<void(int64_t step, double loss)> on_step = [](int64_t, double) {};
  // Before on_step, and when a worker is lost or there again: the devices as they are now.
  std::function<void(const learn::RunRecord&)> on_devices = [](const learn::RunRecord&) {};
  // How often the network is evaluated for Figures::record, the end included, on at most 2,000
  // held-out examples; from copies of the weights, after the run, so that no step waits for it.
  // Fewer where these are large, and where statistics of norms are not measured: they are at
  // checkpoints and at the end.
  int64_t evaluations = 0;
  std::function<bool()> cancelled = [] { return false; };
};

// The options that the settings stand for; `local_steps` below 1 are 1. Fails as check() does.
Result<Options> resolve(const learn::TogetherSettings& settings, fit::TrainingOptions fit,
                        int64_t local_steps);

// Times are those of the workers' world where that is emulated.
struct Figures {
  int64_t steps = 0;             // done, with those before the checkpoint
  int64_t resumed_at = 0;        // the step that a checkpoint was of; 0: none
  double step_seconds = 0;       // the median, without the first
  double mean_seconds = 0;       // the mean of these
  double predicted_seconds = 0;  // of a step
  double single_seconds = 0;     // of a step of the fastest worker alone, which exchanges nothing
  double bytes = 0;              // of a step, per worker, in the direction that has more
  double example_bytes = 0;      // besides, of examples that were not there yet
  size_t workers = 0;            // that had a part in the last step
  bool together = false;         // several workers are faster than one
  learn::CodecKind codec = learn::CodecKind::kF32;
  std::string weights_sha256 = {};  // sha256_of() what was learned
  double loss = 0;                  // of the last step
  int64_t differing = 0;            // as in TrainingRun
  std::vector<Status> lost = {};
  std::vector<double> lost_norms = {};  // as in TrainingRun
  fit::Evaluation evaluation = {};
  learn::RunRecord record = {};  // without MPI

  double speedup() const { return single_seconds / step_seconds; }
};

// SHA-256 of weights and statistics, in the order of their names, in hexadecimal digits.
std::string sha256_of(const std::map<std::string, Tensor>& learned);

// kUnsupported for what no cluster can: penalties, a teacher, patience.
Status check(const Options& options);

// Blocks until training ends. Writes options.fit.out, if there is one, unless it was cancelled; and
// on the way checkpoints to options.fit.checkpoint, if there is one, from which options.fit.resume
// goes on. `device` is that of this machine. Fails as check(), the files, the schedule and
// run_training() do.
Result<Figures> train(cluster::ClusterConnection& connection, Device& device,
                      const Options& options);

// The same with a model and data that are open already, in place of options.fit.model and
// options.fit.data.
Result<Figures> train(cluster::ClusterConnection& connection, Device& device, const Model& model,
                      fit::TrainingData data, const Options& options);

}  // namespace shoal::train_cluster
