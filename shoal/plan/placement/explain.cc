#include "shoal/plan/placement/explain.h"

#include <cmath>

#include "shoal/base/text/number_text.h"

namespace shoal::placement {
namespace {

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

// What is worse about b, as a whole.
std::string difference(const Score& a, const Score& b, double cameras) {
  const auto more = [](double was, double is) { return is > was * (1 + 1e-6) + 1e-9; };
  if (more(a.shortfall, b.shortfall)) {
    return "the slowest camera would have " + percent(1 / b.shortfall) + " of its frames, not " +
           percent(1 / a.shortfall);
  }
  if (more(a.slowdown, b.slowdown)) {
    return "cameras would have " + percent(cameras / b.slowdown) + " of their frames, not " +
           percent(cameras / a.slowdown);
  }
  if (b.late > a.late) return "an answer would be too late";
  if (more(a.latency_seconds, b.latency_seconds)) {
    return "answers would take " +
           fixed(1e3 * (b.latency_seconds - a.latency_seconds) / cameras, 1) + " ms more";
  }
  if (more(a.watts, b.watts)) return "it would take " + fixed(b.watts - a.watts, 2) + " W more";
  return "it would be as good";
}

}  // namespace

void explain(const Problem& problem, const Resources& resources,
             const std::vector<std::vector<Option>>& options,
             const std::vector<const Option*>& found, Placement& placement) {
  Chosen chosen(resources, problem);
  double cameras = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    chosen.set(i, found[i]);
    cameras += found[i]->places != kUnplaced ? 1 : 0;
  }
  const Score score = chosen.score();
  for (size_t i = 0; i < found.size(); ++i) {
    std::string& why = placement.cameras[i].why;
    if (found[i]->places == kUnplaced) {
      why = "no machine can";
      continue;
    }
    const int own = place_of(found[i]->places, Stage::kNetwork);
    int best = kNowhere;
    Score other;
    for (const Option& option : options[i]) {
      const int machine = place_of(option.places, Stage::kNetwork);
      if (machine == own) continue;
      chosen.set(i, &option);
      const Score next = chosen.score();
      if (best != kNowhere && !is_better(next, other, problem.objective)) continue;
      best = machine;
      other = next;
    }
    chosen.set(i, found[i]);
    why = best == kNowhere ? "no other machine is of use"
                           : "on " + problem.machines[static_cast<size_t>(best)].name + " " +
                                 difference(score, other, cameras);
  }
}

}  // namespace shoal::placement
