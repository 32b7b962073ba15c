#include "shoal/variants/scheduler/specialiser.h"

#include "shoal/base/text/number_text.h"

namespace shoal::schedule {
namespace {

std::string list_of(const std::vector<size_t>& classes) {
  std::string text;
  for (const size_t one : classes) text += (text.empty() ? "" : ",") + std::to_string(one);
  return text;
}

}  // namespace

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
