// Thresholds of exits: the probability from which on an exit answers. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"

#pragma GCC visibility push(default)

namespace shoal::exits {

// The answer of one exit to one image.
struct Verdict {
  double probability = 0;  // of its best class
  bool correct = false;
};

// The answers of all exits to labelled images.
struct Verdicts {
  std::vector<std::vector<Verdict>> exits = {};  // per exit, then the last classifier: per image

  // How many images there are.
  size_t images() const { return exits.empty() ? 0 : exits[0].size(); }
};

// The figures of a network that exits early.
struct Figures {
  double top1 = 0;                 // percent
  std::vector<double> share = {};  // of the images, per exit: those it answered; the last one too
  std::vector<double> precision = {};  // percent of these that are right; 0 if there are none
  double mean_macs = 0;                // multiply-accumulates per image
};

// The figures for these numbers of answers, and of right ones, by exit. `stage_macs` are those of
// one image, as Runner has them. REQUIRES: as many of each.
Figures figures_of(std::span<const size_t> answered, std::span<const size_t> correct,
                   std::span<const int64_t> stage_macs);

// The figures with these thresholds. REQUIRES: a threshold for every exit but the last; a stage for
// every exit.
Figures figures_with(const Verdicts& verdicts, std::span<const double> thresholds,
                     std::span<const int64_t> stage_macs);

// The probability that at most n of `trials` fail, each with probability `rate`. REQUIRES: 0 < rate
// < 1.
double chance_of_at_most(size_t failures, size_t trials, double rate);

// A precision, and the risk of missing it.
struct WantedPrecision {
  double precision = 0.99;
  double risk = 0.05;
  size_t shares = 10;  // of the images that reach an exit: as many thresholds are tried
};

// The lowest threshold of each exit for which the images show, at that risk, the wanted share of
// right answers; kNever if none does. Each exit is tested on the images that earlier exits have
// left. kInvalidArgument for a precision or a risk that is not between 0 and 1.
Result<std::vector<double>> thresholds_for_precision(const Verdicts& verdicts,
                                                     const WantedPrecision& wanted);

// The thresholds with the fewest multiply-accumulates that a search finds for an accuracy at most
// `max_drop` points below the last classifier's on these images. Other images may lose more: see
// drop_calibration.h.
std::vector<double> thresholds_for_drop(const Verdicts& verdicts, double max_drop,
                                        std::span<const int64_t> stage_macs);

// Budget: keeps total costs with early answers within a slack of the costs without, whatever early
// answers are worth.
//
// An attempt that may cost more than the sure way is made only if, with sums over all requests so
// far that fade with g < 1,
//
//   g S + cost <= (1 + slack) (g B + alone)
//
// for the costs S and those B of the sure way. Then the sum over all requests of cost - (1 + slack)
// alone is at most 0, too: it is D + (1 - g) sum(D) for D = S - (1 + slack) B <= 0.

// A value. Costs are in any one unit.
class Budget {
 public:
  // Nothing is spent yet.
  explicit Budget(double slack = 0.02) : slack_(slack) {}

  // Whether a request may cost this, given the cost `alone` of the sure way.
  bool affordable(double cost, double alone) const {
    return kFade * spent_ + cost <= (1 + slack_) * (kFade * alone_ + alone);
  }
  // Adds the cost of a request.
  void spend(double cost, double alone) {
    spent_ = kFade * spent_ + cost;
    alone_ = kFade * alone_ + alone;
  }

 private:
  static constexpr double kFade = 0.999;
  double slack_, spent_ = 0, alone_ = 0;
};

}  // namespace shoal::exits

#pragma GCC visibility pop
