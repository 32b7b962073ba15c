#include "shoal/variants/scheduler/specialiser.h"

#include <algorithm>
#include <numeric>

#include "shoal/base/text/number_text.h"

namespace shoal::schedule {
namespace {

constexpr double kMostWeight = 1e100;

std::string list_of(const std::vector<size_t>& classes) {
  std::string text;
  for (const size_t one : classes) text += (text.empty() ? "" : ",") + std::to_string(one);
  return text;
}

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

double break_even(const Option& special) {
  const double general = special.fallback->joules;
  return general > 0 ? 1 - special.joules / general : 1;
}

Specialiser::Specialiser(size_t classes, const SpecialiserOptions& options)
    : options_(options), watch_(classes, options.watch) {}

void Specialiser::failed(double now) {
  state_ = State::kNone;
  not_before_ = now + options_.pause;
}

SpecialAdvice Specialiser::advise(double falls, double break_even, double now) {
  if (state_ == State::kNone && now >= not_before_) {
    std::vector<size_t> few = watch_.few();
    if (few.empty()) return {};
    state_ = State::kWanted;
    classes_ = std::move(few);
    const double share = watch_.share_of(classes_);
    return {SpecialAdvice::Kind::kMake, classes_,
            fixed(now, 3) + " specialise: classes " + list_of(classes_) + " are " +
                fixed(share, 3) + " of recent answers"};
  }
  if (state_ != State::kInUse) return {};
  const double covered = watch_.share_of(classes_);
  const bool costs = falls > break_even - options_.margin;
  if (!costs && covered >= options_.least_covered) return {};
  failed(now);
  return {
      SpecialAdvice::Kind::kRetire, classes_,
      fixed(now, 3) + " give up the network for classes " + list_of(classes_) +
          (costs ? ": it falls back " + fixed(falls, 3) + ", break-even is " + fixed(break_even, 3)
                 : ": they are " + fixed(covered, 3) + " of recent answers")};
}

}  // namespace shoal::schedule
