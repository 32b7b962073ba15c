#include "shoal/shrink/result.h"

#include <algorithm>

namespace shoal::shrink {
namespace {

// Times are compared where both were measured.
bool costs_less(const Figures& a, const Figures& b) {
  if (a.ms && b.ms) return *a.ms < *b.ms;
  return a.size.macs < b.size.macs;
}

// At least as good in both, and better in one.
bool beats(const Figures& a, const Figures& b) {
  if (costs_less(b, a) || b.top1 > a.top1) return false;
  return costs_less(a, b) || a.top1 > b.top1;
}

}  // namespace

std::vector<Figures> ShrinkResult::front() const {
  std::vector<Figures> all = {small, dense};
  all.insert(all.end(), missed.begin(), missed.end());
  for (const auto& control : {top1_scratch, top1_random}) {
    if (!control) continue;
    all.push_back(small);  // the same costs
    all.back().top1 = *control;
  }
  std::vector<Figures> best;
  for (const Figures& one : all) {
    const bool known = std::ranges::find(best, one) != best.end();
    if (known || std::ranges::any_of(all, [&](const auto& other) { return beats(other, one); })) {
      continue;
    }
    best.push_back(one);
  }
  std::ranges::stable_sort(best, costs_less);
  return best;
}

std::vector<std::string> ShrinkResult::lost_to() const {
  std::vector<std::string> winners;
  if (top1_scratch && *top1_scratch > small.top1) winners.emplace_back("scratch");
  if (top1_random && *top1_random > small.top1) winners.emplace_back("random");
  return winners;
}

bool ShrinkResult::recipe_does_harm() const {
  constexpr double kPoints = 1;  // less is what one run differs from the next
  return dense.top1 < top1_before - kPoints;
}

}  // namespace shoal::shrink
