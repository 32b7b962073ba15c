#include "shoal/train/run/loop/progress.h"

#include <algorithm>

#include "shoal/base/status.h"

namespace shoal::fit {

// Every step has a full batch, so that sums over steps and the batch size give all means.
void TrainingProgress::add_step(double loss, size_t correct_answers) {
  loss_sum += loss;
  correct += correct_answers;
  ++step;
}

double TrainingProgress::top1(size_t batch) const {
  return 100 * static_cast<double>(correct) /
         (static_cast<double>(step) * static_cast<double>(batch));
}

void TrainingProgress::end_epoch(size_t batch, double held_out_loss, double held_out_top1) {
  SHOAL_CHECK(step > 0);
  results.push_back({.loss = mean_loss(),
                     .top1 = top1(batch),
                     .held_out_loss = held_out_loss,
                     .held_out_top1 = held_out_top1,
                     .seconds = seconds});
  ++epoch;
  step = 0;
  loss_sum = 0;
  correct = 0;
}

// max_element returns the first of equals: an epoch has to be better to count as better.
size_t TrainingProgress::best_epoch() const {
  SHOAL_CHECK(!results.empty());
  const auto best = std::ranges::max_element(results, {}, &EpochResult::held_out_top1);
  return static_cast<size_t>(best - results.begin());
}

// The difference counts the best epoch, too, hence > and not >=.
bool TrainingProgress::out_of_patience(int64_t patience) const {
  return patience > 0 && !results.empty() &&
         results.size() - best_epoch() > static_cast<size_t>(patience);
}

}  // namespace shoal::fit
