// Thresholds of exits for a loss of accuracy that holds on other images. Pure.
//
// Counting measures a small loss poorly: of 2,000 images some 70 get another answer from an early
// exit, half of them better, so the count errs by 0.4 points. So the loss is estimated. A stack of
// all classifiers,
//
//   q = softmax(sum over exits of w[k] scores[k]),   w by maximum likelihood,
//
// gives the probability of each class of an image; labels are needed for w alone, one number per
// exit. If exit k answers image i, the loss is
//
//   v[k][i] = q(best class of the last classifier) - q(best class of exit k),
//
// which is 0 if both agree. The error of this is a third of the count's.
//
// The scores of each exit are also scaled to make their softmax likely (temperature, Guo 2017). Let
// p be the probability of its best class then, and r[k] the share of the work that is left. An exit
// answers if the expected loss s[k] (1 - p), with s[k] by least squares, is at most lambda r[k]:
//
//   threshold[k] = 1 - lambda r[k] / s[k]
//
// Only lambda, the price of work, is searched for, which limits overfitting. It rises while images
// show, at the risk, that the mean of v is at most the wanted loss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/shrink/exits/thresholds/thresholds.h"

namespace shoal::exits {

// The scores of all exits for labelled images.
struct ExitScores {
  size_t classes = 0;
  std::vector<int64_t> labels = {};  // per image
  // Per exit, then the last classifier: image after image, before a softmax.
  std::vector<std::vector<float>> exits = {};

  std::span<const float> of(size_t exit, size_t image) const {
    return std::span(exits[exit]).subspan(image * classes, classes);
  }
};

// What exits answer where these are their scores.
Verdicts verdicts_of(const ExitScores& scores);

// A loss, and the risk of a larger loss on other images.
struct WantedDrop {
  double points = 0.3;
  double risk = 0.05;
};

struct DropCalibration {
  std::vector<double> scales = {};      // per exit: what its scores are to be multiplied by
  std::vector<double> thresholds = {};  // per exit: of the probability after that, or kNever
};

// With too few images to show such a loss, no exit answers. kInvalidArgument for points below 0, a
// risk not between 0 and 1, or a label that is no class. REQUIRES: a stage for every exit and the
// last; as many scores of each as labels.
Result<DropCalibration> calibrate_for_drop(const ExitScores& scores, const WantedDrop& wanted,
                                           std::span<const int64_t> stage_macs);

// Multiplies the scores of each exit but the last by its scale.
ExitScores scaled(ExitScores scores, std::span<const double> scales);

}  // namespace shoal::exits
