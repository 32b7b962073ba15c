#include "shoal/schedule/class_watch.h"

#include <algorithm>
#include <numeric>

namespace shoal::schedule {

ClassWatch::ClassWatch(size_t classes, const ClassWatchOptions& options)
    : options_(options), counts_(classes, 0) {}

std::vector<size_t> ClassWatch::covering() const {
  std::vector<size_t> classes(counts_.size());
  std::iota(classes.begin(), classes.end(), 0);
  std::ranges::stable_sort(classes, std::ranges::greater(), [&](size_t c) { return counts_[c]; });
  const double all = std::accumulate(counts_.begin(), counts_.end(), 0.0);
  size_t taken = 0;
  for (double sum = 0; taken < classes.size() && sum < options_.covered * all; ++taken) {
    sum += counts_[classes[taken]];
  }
  classes.resize(taken);
  return classes;
}

void ClassWatch::note(size_t answer, double now) {
  for (double& count : counts_) count *= 1 - 1 / options_.memory;
  counts_[answer] += 1;
  answers_ += 1;
  now_ = now;
  // Few answers are always of few classes.
  const bool are_few = answers_ >= options_.memory && covering().size() <= options_.most;
  if (are_few && !are_few_) few_since_ = now;
  are_few_ = are_few;
}

std::vector<size_t> ClassWatch::few() const {
  if (!are_few_ || now_ - few_since_ < options_.seconds) return {};
  std::vector<size_t> classes = covering();
  std::ranges::sort(classes);
  return classes;
}

double ClassWatch::share_of(const std::vector<size_t>& classes) const {
  double some = 0;
  for (const size_t one : classes) some += counts_[one];
  const double all = std::accumulate(counts_.begin(), counts_.end(), 0.0);
  return all > 0 ? some / all : 0;
}

}  // namespace shoal::schedule
