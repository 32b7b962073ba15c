#include "shoal/shrink/exits/thresholds/thresholds.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "shoal/shrink/exits/network/multi_exit.h"

namespace shoal::exits {
namespace {

double percent(size_t part, size_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

// The lowest threshold for these images, which are sorted by falling probability.
//
// Whether n answers, k of them wrong, show a precision of at least p is decided by the one-sided
// bound of Clopper and Pearson (1934): it is p or more at the risk r iff at most k errors among n,
// each with probability 1 - p, have a chance of at most r.
//
// Many thresholds are tried, and none may pass by luck. They are tested in a fixed order, from few
// and confident images to all, and share the risk equally; the part of a test that passed goes on
// to the next one (the fallback procedure, Wiens 2003). The risk that any threshold of too low a
// precision passes is then at most r, however the tests depend on each other.
double lowest_threshold(const std::vector<Verdict>& sorted, const WantedPrecision& wanted) {
  const double rate = 1 - wanted.precision;
  // The images that reach an exit are tried in this many shares, the most confident first.
  const size_t shares = std::max<size_t>(wanted.shares, 1);
  const auto count_at = [&](size_t step) { return sorted.size() * step / shares; };
  // A test of images that are too few to pass, were all of them right, gets no part.
  size_t first = 1;
  const auto part_of_risk = [&] {
    return wanted.risk / static_cast<double>(shares + 1 - std::min(first, shares));
  };
  while (first <= shares && chance_of_at_most(0, count_at(first), rate) > part_of_risk()) ++first;
  const double part = part_of_risk();
  double threshold = kNever, level = 0;
  size_t seen = 0, errors = 0;
  for (size_t step = first; step <= shares; ++step) {
    // All images of one probability are on the same side of a threshold.
    const auto belongs = [&](size_t i) {
      return i < count_at(step) || sorted[i].probability == sorted[i - 1].probability;
    };
    for (; seen < sorted.size() && belongs(seen); ++seen) errors += sorted[seen].correct ? 0 : 1;
    level += part;
    if (chance_of_at_most(errors, seen, rate) > level) {
      level = 0;
      continue;
    }
    threshold = sorted[seen - 1].probability;
  }
  return threshold;
}

// The search goes through thresholds that as many images reach each time.
std::vector<double> candidates_for(const std::vector<Verdict>& verdicts) {
  constexpr size_t kCandidates = 64;
  std::vector<double> probabilities;
  for (const Verdict& verdict : verdicts) probabilities.push_back(verdict.probability);
  std::ranges::sort(probabilities, std::greater());
  std::vector<double> candidates{kNever};
  for (size_t i = 1; i <= kCandidates && !probabilities.empty(); ++i) {
    const size_t rank = std::max<size_t>(probabilities.size() * i / kCandidates, 1) - 1;
    if (probabilities[rank] != candidates.back()) candidates.push_back(probabilities[rank]);
  }
  return candidates;
}

}  // namespace

Figures figures_of(std::span<const size_t> answered, std::span<const size_t> correct,
                   std::span<const int64_t> stage_macs) {
  SHOAL_CHECK(answered.size() == stage_macs.size() && correct.size() == stage_macs.size());
  const auto sum = [](std::span<const size_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), size_t{0});
  };
  const size_t images = sum(answered);
  Figures figures{.top1 = percent(sum(correct), images), .share = {}, .precision = {}};
  // E[C] = sum over stages of P(reached) * C(stage)
  size_t left = images;
  for (size_t exit = 0; exit < stage_macs.size(); ++exit) {
    figures.mean_macs += percent(left, images) / 100 * static_cast<double>(stage_macs[exit]);
    figures.share.push_back(percent(answered[exit], images) / 100);
    figures.precision.push_back(percent(correct[exit], answered[exit]));
    left -= answered[exit];
  }
  return figures;
}

Figures figures_with(const Verdicts& verdicts, std::span<const double> thresholds,
                     std::span<const int64_t> stage_macs) {
  const size_t exits = verdicts.exits.size();
  SHOAL_CHECK(exits == thresholds.size() + 1 && exits == stage_macs.size());
  std::vector<size_t> answered(exits, 0), correct(exits, 0);
  for (size_t image = 0; image < verdicts.images(); ++image) {
    size_t exit = 0;
    while (exit + 1 < exits && !(verdicts.exits[exit][image].probability >= thresholds[exit])) {
      ++exit;
    }
    ++answered[exit];
    correct[exit] += verdicts.exits[exit][image].correct ? 1 : 0;
  }
  return figures_of(answered, correct, stage_macs);
}

// sum over e of C(n, e) q^e (1 - q)^(n - e), term by term, in logarithms: (1 - q)^n alone would be
// zero for some ten thousand trials.
double chance_of_at_most(size_t failures, size_t trials, double rate) {
  double term = static_cast<double>(trials) * std::log1p(-rate), sum = std::exp(term);
  for (size_t e = 0; e < std::min(failures, trials); ++e) {
    term += std::log(static_cast<double>(trials - e) / static_cast<double>(e + 1)) +
            std::log(rate) - std::log1p(-rate);
    sum += std::exp(term);
  }
  return std::min(sum, 1.0);
}

Result<std::vector<double>> thresholds_for_precision(const Verdicts& verdicts,
                                                     const WantedPrecision& wanted) {
  const auto is_share = [](double x) { return x > 0 && x < 1; };
  if (!is_share(wanted.precision) || !is_share(wanted.risk)) {
    return invalid("a precision and its risk are between 0 and 1");
  }
  std::vector<double> thresholds;
  std::vector<size_t> left(verdicts.images());
  std::iota(left.begin(), left.end(), size_t{0});
  for (size_t exit = 0; exit + 1 < verdicts.exits.size(); ++exit) {
    std::vector<Verdict> reached;
    for (size_t image : left) reached.push_back(verdicts.exits[exit][image]);
    std::ranges::stable_sort(reached, std::greater(), &Verdict::probability);
    const double threshold = lowest_threshold(reached, wanted);
    thresholds.push_back(threshold);
    std::erase_if(
        left, [&](size_t image) { return verdicts.exits[exit][image].probability >= threshold; });
  }
  return thresholds;
}

// Descent by pairs of exits, from "never": all pairs of their candidates are tried, since an exit
// that answers less may let another answer more. Ends when no pair gives less work.
std::vector<double> thresholds_for_drop(const Verdicts& verdicts, double max_drop,
                                        std::span<const int64_t> stage_macs) {
  const size_t exits = verdicts.exits.size() - 1;
  std::vector<std::vector<double>> candidates;
  for (size_t exit = 0; exit < exits; ++exit) {
    candidates.push_back(candidates_for(verdicts.exits[exit]));
  }
  std::vector<double> best(exits, kNever);
  const Figures without = figures_with(verdicts, best, stage_macs);
  double fewest = without.mean_macs;
  const auto improves = [&](const std::vector<double>& thresholds) {
    const Figures figures = figures_with(verdicts, thresholds, stage_macs);
    if (figures.top1 < without.top1 - max_drop || figures.mean_macs >= fewest) return false;
    fewest = figures.mean_macs;
    best = thresholds;
    return true;
  };
  const auto improve_pair = [&](size_t a, size_t b) {
    bool improved = false;
    std::vector<double> thresholds = best;
    for (double at_a : candidates[a]) {
      for (double at_b : candidates[b]) {
        thresholds[a] = at_a;
        thresholds[b] = at_b;  // where a is b, this one counts
        improved = improves(thresholds) || improved;
      }
    }
    return improved;
  };
  for (bool improved = true; improved;) {
    improved = false;
    for (size_t a = 0; a < exits; ++a) {
      for (size_t b = exits > 1 ? a + 1 : a; b < exits; ++b) improved |= improve_pair(a, b);
    }
  }
  return best;
}

}  // namespace shoal::exits
