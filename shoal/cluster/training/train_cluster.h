// Trains a network on the workers of a cluster, as `shoal train --cluster` does: opens model and
// data, lets the scheduler choose the workers, and runs the hub on the coordinator.
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
  int levels = 3;                 // 2^levels micro-batches, which are divided into shares
  // Steps that each worker takes by itself before they exchange what they learned; the merged
  // difference is followed by the outer rule (learn::Replica). 1: every step is exchanged.
  int64_t local_steps = 1;
  learn::OuterRule outer = {.rate = 0.7f, .momentum = 0.9f};
  // nullopt: the codec with the shortest step, among those that lose little.
  std::optional<learn::CodecKind> codec = learn::CodecKind::kF32;
  bool keep_awake = true;  // radios, for as long as training takes
  // Send the examples of all steps before the first, as far as memory allows.
  bool ahead = false;
  // Use all workers, even if one alone is as fast.
  bool all_workers = false;
  // Keep the shares of all workers as planned at the beginning, so that the result of a lossy codec
  // or of local steps does not depend on speeds. nullopt: only with such a codec or steps and a
  // checkpoint, so that a resumed run learns the same weights.
  std::optional<bool> fixed_shares = {};
  double slack = 0;  // as in HubOptions
  std::function<void(const std::string&)> on_note = [](const std::string&) {};
  std::function<void()> begins = [] {};  // the first step
  std::function<void(int64_t step, double loss)> on_step = [](int64_t, double) {};
  // Before on_step, and when a worker is lost or back: the present devices.
  std::function<void(const learn::RunRecord&)> on_devices = [](const learn::RunRecord&) {};
  // How often the network is evaluated for Figures::record, including the end, on at most 2,000
  // held-out examples; from copies of the weights, after the run, so that no step waits for it.
  // Fewer if the copies are large, or if statistics of norms are not measured: these exist at
  // checkpoints and at the end.
  int64_t evaluations = 0;
  std::function<bool()> cancelled = [] { return false; };
};

// The options for these settings; `local_steps` below 1 are 1. Fails as check() does.
Result<Options> resolve(const learn::TogetherSettings& settings, fit::TrainingOptions fit,
                        int64_t local_steps);

// Times are in emulated time, if the workers are emulated.
struct Figures {
  int64_t steps = 0;             // completed, with those before the checkpoint
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

// kUnsupported for options that do not work on a cluster: penalties, a teacher, patience.
Status check(const Options& options);

// Blocks until training ends. Writes options.fit.out, if set, unless it was cancelled, and
// checkpoints to options.fit.checkpoint, if set; resumes from options.fit.resume. `device` is this
// machine's. Fails as check(), the files, the schedule and run_training() do.
Result<Figures> train(cluster::ClusterConnection& connection, Device& device,
                      const Options& options);

// Likewise with an opened model and data, instead of options.fit.model and options.fit.data.
Result<Figures> train(cluster::ClusterConnection& connection, Device& device, const Model& model,
                      fit::TrainingData data, const Options& options);

}  // namespace shoal::train_cluster
