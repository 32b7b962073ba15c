// Thresholds of exits for a loss of accuracy that holds on other images. Pure: scores in, numbers
// out.
//
// Counting right answers is a poor measure of a small loss: of 2,000 images some 70 get another
// answer by an early exit, half of them for the better, so that the count errs by 0.4 points. The
// loss is therefore expected, not counted. A stack of all classifiers,
//
//   q = softmax(sum over exits of w[k] scores[k]),   w by maximum likelihood,
//
// says how probable each class of an image is; labels are needed for w alone, one number for each
// exit. An image i that exit k answers loses
//
//   v[k][i] = q(best class of the last classifier) - q(best class of exit k),
//
// which is 0 where both say the same. That has a third of the error of the count.
//
// The scores of each exit are scaled so that their softmax is likely, too (temperature, Guo 2017).
// Let p be the probability of its best class then, and r[k] the share of the work that is left. An
// exit answers where the loss that p lets expect, s[k] (1 - p) with s[k] by least squares, is at
// most lambda r[k]:
//
//   threshold[k] = 1 - lambda r[k] / s[k]
//
// Lambda, the price of work, is all that is searched for, so that there is little to fit by luck.
// It rises while images show, at the risk, that the mean of v is at most the wanted loss.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/shrink/exits/thresholds/thresholds.h"

namespace shoal::exits {

// The scores of a network for labelled images, had every stage run for all of them.
struct ExitScores {
  size_t classes = 0;
  std::vector<int64_t> labels = {};  // per image
  // Per exit, then the last classifier: image after image, before a softmax.
  std::vector<std::vector<float>> exits = {};

  // The scores of one image.
  std::span<const float> of(size_t exit, size_t image) const {
    return std::span(exits[exit]).subspan(image * classes, classes);
  }
};

// What exits answer where these are their scores.
Verdicts verdicts_of(const ExitScores& scores);

// A loss, and the risk that it is more on other images.
struct WantedDrop {
  double points = 0.3;
  double risk = 0.05;
};

// How exits are to answer.
struct DropCalibration {
  std::vector<double> scales = {};      // per exit: what its scores are to be multiplied by
  std::vector<double> thresholds = {};  // per exit: of the probability after that, or kNever
};

// See the head of this file. Images that are too few to show such a loss let no exit answer.
// kInvalidArgument for points below 0, a risk that is not between 0 and 1, or a label that is no
// class. REQUIRES: a stage for every exit and the last; as many scores of each as labels.
Result<DropCalibration> calibrate_for_drop(const ExitScores& scores, const WantedDrop& wanted,
                                           std::span<const int64_t> stage_macs);

// The scores with those of each exit but the last multiplied by its scale.
ExitScores scaled(ExitScores scores, std::span<const double> scales);

}  // namespace shoal::exits
