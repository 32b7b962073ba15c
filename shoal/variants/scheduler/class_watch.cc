#include "shoal/variants/scheduler/class_watch.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace shoal::schedule {
namespace {

constexpr double kMostWeight = 1e100;

}  // namespace

ClassWatch::ClassWatch(size_t classes, const ClassWatchOptions& options)
    : options_(options), counts_(classes, 0) {}

std::vector<size_t> ClassWatch::covering() const {
  std::vector<size_t> classes(counts_.size());
  std::iota(classes.begin(), classes.end(), 0);
  const size_t most = std::min(options_.most + 1, classes.size());
  const auto before = [&](size_t a, size_t b) {
    return std::pair(-counts_[a], a) < std::pair(-counts_[b], b);
  };
  std::partial_sort(classes.begin(), classes.begin() + static_cast<ptrdiff_t>(most), classes.end(),
                    before);
  size_t taken = 0;
  for (double sum = 0; taken < most && sum < options_.covered * all_; ++taken) {
    sum += counts_[classes[taken]];
  }
  classes.resize(taken);
  return classes;
}

void ClassWatch::note(size_t answer, double now) {
  if (answer >= counts_.size()) return;
  counts_[answer] += weight_;
  all_ += weight_;
  weight_ /= 1 - 1 / options_.memory;
  if (weight_ > kMostWeight) {
    for (double& count : counts_) count /= weight_;
    all_ /= weight_;
    weight_ = 1;
  }
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
  return all_ > 0 ? some / all_ : 0;
}

}  // namespace shoal::schedule
