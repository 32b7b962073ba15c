// The scheduler of a training run: workers, shares, codec, local steps, whether radios stay awake
// and results are broadcast. A pure function of measured profiles.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shoal/plan/profile.h"
#include "shoal/train/distributed/codec/tensor_codec.h"

namespace shoal::learn {

// Splits `total` micro-batches among workers that take these seconds for one, to minimise the
// greatest share * seconds [Mao 2017b]. Workers may get none. Ties go to the first. REQUIRES: there
// is a worker, every number is above 0, total >= 0.
std::vector<int64_t> shares_of(std::span<const double> seconds, int64_t total);

// A measured device. A table, because small batches are slower per sample.
struct TrainingDevice {
  std::string name;
  // Samples and seconds of a step, ascending. Interpolated linearly, proportional beyond the last,
  // with the first slope below the first. REQUIRES: not empty, above 0.
  std::vector<std::pair<int64_t, double>> times;
  double codec_bytes_per_second = 4e9;  // of f32, encoded or decoded
  plan::LinkProfile link = {};

  double seconds_of(int64_t samples) const;
};

struct TrainingSite {
  std::vector<TrainingDevice> workers;
  plan::LinkProfile hub = {};
  double hub_codec_bytes_per_second = 4e9;
  // The rate of a broadcast to all workers, relative to that to one; 0: the medium has none.
  double broadcast_rate = 0;
  bool overlaps = true;  // gradients of the last layers are sent while others are computed
  // The hub sends to one worker after the other, and each begins as soon as it has the merged step.
  // A step is then the time from one merge to the next.
  bool staggers = false;
};

struct TrainingJob {
  int64_t batch = 128;             // samples of a step
  int64_t unit = 1;                // samples of a micro-batch; shares are multiples of it
  double gradient_bytes = 0;       // as f32
  double backward_share = 2. / 3;  // of the time of a step
  // Allowed codecs, and the bytes of a message by each.
  std::map<CodecKind, double> messages = {};
  int64_t most_local_steps = 1;  // between two exchanges; above 1 the learned weights differ
  bool may_keep_awake = true;
};

struct TrainingPlan {
  std::vector<int64_t> shares;  // samples of each worker
  CodecKind codec = CodecKind::kF32;
  int64_t local_steps = 1;
  bool keeps_awake = false;
  bool broadcasts = false;
};

// Predicted seconds of a step. One worker alone exchanges nothing. REQUIRES: the plan is for this
// site and job, and has a share above 0.
double predict_step(const TrainingSite& site, const TrainingJob& job, const TrainingPlan& plan);

struct Schedule {
  TrainingPlan plan;
  double step_seconds = 0;   // predicted
  double alone_seconds = 0;  // of the fastest device alone
  size_t alone = 0;          // the index of that device
  bool together = false;     // otherwise the plan is the fastest device alone

  double speedup() const { return alone_seconds / step_seconds; }
};

// Finds the plan with the shortest predicted step. kInvalidArgument without workers, codecs or
// samples, for a time that is not above 0, or if the unit does not divide the batch.
Result<Schedule> schedule(const TrainingSite& site, const TrainingJob& job);

// For people: "4 of 8 workers, 1bit, 3.94 x", or "nexus5 alone is faster than 2 workers together".
std::string describe(const Schedule& schedule, const TrainingSite& site);

}  // namespace shoal::learn
