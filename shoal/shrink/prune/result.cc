#include "shoal/shrink/prune/result.h"

#include <algorithm>

#include "shoal/base/text/number_text.h"

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

std::vector<std::string> ShrinkResult::warnings() const {
  std::vector<std::string> lines;
  if (recipe_does_harm()) {
    lines.push_back("training took the dense network from " + fixed(top1_before, 2) + " to " +
                    fixed(dense.top1, 2) +
                    " %: a lower rate or clip 1 may help, and these figures say little");
  }
  for (const std::string& control : lost_to()) {
    lines.push_back("the control '" + control + "' is better: the removal gained nothing");
  }
  return lines;
}

std::string ShrinkResult::missed_bound(double max_drop) const {
  if (missed.empty()) return "";
  return "the target costs " + fixed(dense.top1 - missed[0].top1, 2) + " points of top-1, not " +
         fixed(max_drop, 2) +
         (removed.empty() ? ": the dense control is written"
                          : ": a network that lost less is written");
}

}  // namespace shoal::shrink
