// Thresholds of exits: from which probability on an exit answers. Pure: answers in, numbers out.
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

// The answers of a network to labelled images, had every stage run for all of them.
struct Verdicts {
  std::vector<std::vector<Verdict>> exits = {};  // per exit, then the last classifier: per image

  // How many images there are.
  size_t images() const { return exits.empty() ? 0 : exits[0].size(); }
};

// The figures of a network that exits early.
struct Figures {
  double top1 = 0;                 // percent
  std::vector<double> share = {};  // of the images, per exit: those it answered; the last one too
  std::vector<double> precision = {};  // percent of these that are right; 0 where there are none
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

// The probability that of `trials`, each a failure with probability `rate`, at most n fail.
// REQUIRES: 0 < rate < 1.
double chance_of_at_most(size_t failures, size_t trials, double rate);

// A precision, and the risk that an exit does not have it.
struct WantedPrecision {
  double precision = 0.99;
  double risk = 0.05;
  size_t shares = 10;  // of the images that reach an exit: as many thresholds are tried
};

// The lowest threshold of each exit for which the images say, at that risk, that of the images it
// answers the wanted share gets the right answer; kNever where they do not say so of any. Each exit
// is held to it on the images that exits before it have left. kInvalidArgument for a precision or a
// risk that is not between 0 and 1.
Result<std::vector<double>> thresholds_for_precision(const Verdicts& verdicts,
                                                     const WantedPrecision& wanted);

// Thresholds with the fewest multiply-accumulates that a search finds among those with which the
// accuracy on these images is at most `max_drop` points below that of the last classifier alone. It
// promises nothing about other images: drop_calibration.h does.
std::vector<double> thresholds_for_drop(const Verdicts& verdicts, double max_drop,
                                        std::span<const int64_t> stage_macs);

// Budget: all costs of something that may answer early stay within a slack of those of the sure way
// alone, whatever early answers are worth.
//
// Something that may cost more than the sure way is tried only if, with sums over all requests so
// far that fade with g < 1,
//
//   g S + cost <= (1 + slack) (g B + alone)
//
// for the costs S and those B of the sure way alone. The sum over all requests of
// cost - (1 + slack) alone is then at most 0, too: it is D + (1 - g) sum(D) for
// D = S - (1 + slack) B <= 0.

// A value. Costs are in any one unit.
class Budget {
 public:
  // Nothing is spent yet.
  explicit Budget(double slack = 0.02) : slack_(slack) {}

  // Whether a request may have this cost, where the sure way costs `alone`.
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
