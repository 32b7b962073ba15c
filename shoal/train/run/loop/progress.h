// TrainingProgress: how far training is and what came out so far. It decides which epoch is the
// best and when to stop, from results alone: no clock, no files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#pragma GCC visibility push(default)

namespace shoal::fit {

// The results of one epoch.
struct EpochResult {
  double loss = 0, top1 = 0;                    // of the training examples, on the way
  double held_out_loss = 0, held_out_top1 = 0;  // after the epoch
  double seconds = 0;                           // since training began
};

// See the head of this file. A value.
struct TrainingProgress {
  uint64_t epoch = 0;  // the position: this step of this epoch is the next
  size_t step = 0;
  double loss_sum = 0;  // over the steps of this epoch
  size_t correct = 0;   // answers in this epoch
  double seconds = 0;   // in all, earlier processes included
  std::vector<EpochResult> results;

  // Counts a step of the epoch.
  void add_step(double loss, size_t correct_answers);
  // Closes the epoch with what its steps and the evaluation after it gave; the next one begins.
  // REQUIRES: the epoch had a step.
  void end_epoch(size_t batch, double held_out_loss, double held_out_top1);

  // Means over the epoch so far. REQUIRES: it had a step.
  double mean_loss() const { return loss_sum / static_cast<double>(step); }
  double top1(size_t batch) const;

  // The index of the epoch with the best result on held-out examples, the first of equals.
  // REQUIRES: an epoch has ended.
  size_t best_epoch() const;
  // Whether the epoch that ended last is the best.
  bool improved() const { return !results.empty() && best_epoch() + 1 == results.size(); }
  // Whether `patience` epochs in a row, or more, brought no better result. 0: never.
  bool out_of_patience(int64_t patience) const;
};

}  // namespace shoal::fit

#pragma GCC visibility pop
