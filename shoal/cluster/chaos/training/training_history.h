// TrainingHistory: a simulated training run whose cluster, codec and faults follow from a seed, and
// the invariants that must hold in all of them.
//
//   The run ends, with all its steps, and no worker is taken for broken.
//   Workers have the hub's weights in the end.
//   Where the codec is exact and every step complete, the weights are those of the run without
//   faults. Where it is not, they are as well if shares are fixed and only the hub was killed, or
//   a lost worker sends the run back to its checkpoint.
//   A fault costs at most the micro-batches of one step, and a killed hub the steps since its last
//   checkpoint besides: no more than between two, where no worker is silent or has no share.
//   After a loss the next step is merged within a second, if others are there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "shoal/base/text/facts.h"
#include "shoal/cluster/chaos/training/simulated_training.h"
#include "shoal/cluster/chaos/verdict.h"

namespace shoal::chaos {

struct TrainingHistory {
  std::string violation;  // empty: none
  TrainingFigures figures = {};
};

struct TrainingCampaign {
  uint64_t histories = 0, violations = 0;
  int64_t first_bad_seed = -1;  // none
  std::string first_violation;
  uint64_t compared = 0;  // with the run without faults, bit by bit
  int64_t steps = 0, kills = 0, hub_kills = 0, damages = 0, stalls = 0, hub_steps_lost = 0;
  Time longest_recovery{0};

  Verdict verdict() const { return Verdict::of_histories(first_bad_seed, first_violation); }
};

Facts facts_of(const TrainingCampaign& campaign);

// Not thread-safe.
class TrainingHistories {
 public:
  // REQUIRES: the device outlives it.
  explicit TrainingHistories(Device& device);

  TrainingHistory live_through(uint64_t seed);
  // Runs the histories of `count` seeds, from `seed` on. Calls `at` with the number of those done.
  TrainingCampaign live_through(uint64_t seed, uint64_t count,
                                const std::function<void(uint64_t done)>& at = nullptr);

 private:
  Result<uint64_t> hash_without_faults(SimulatedTrainingOptions options);

  Device& device_;
  TrainingTask task_;
  std::map<std::string, uint64_t> calm_;  // hashes, by what they depend on
  uint64_t compared_ = 0;
};

}  // namespace shoal::chaos
