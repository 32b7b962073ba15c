// Scores of classes: ranks, probabilities and the best few.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal::fit {

// The number of classes that score higher than `label`. Of equal scores the lower index counts as
// higher, as in NumPy's argmax; a NaN is lower than every number. scores.size() if the label is no
// class or its score is NaN.
size_t rank_of(std::span<const float> scores, int64_t label);

// The class with the highest score; 0 if all are NaN. REQUIRES: there is one.
int64_t best_class(std::span<const float> scores);

// e^x / sum of e^x, in f64 and without overflow. NaN gives 0 and is not in the sum.
std::vector<double> softmax(std::span<const float> scores);

// Whether the scores can be probabilities already: not negative, with a sum of 1 +- 0.001. A
// network whose last layer is a Softmax gives such scores.
bool are_probabilities(std::span<const float> scores);

// A class and its score.
struct RankedClass {
  size_t index = 0;
  float score = 0;
  double probability = 0;  // the score itself if all of them are probabilities, else its softmax
};

// The `count` best classes or all there are, best first, NaN last.
std::vector<RankedClass> top_classes(std::span<const float> scores, size_t count);

// How many of the first `count` rows of scores [n, classes] are highest at their label.
size_t count_correct(const Tensor& scores, const Tensor& labels, size_t count);

}  // namespace shoal::fit

#pragma GCC visibility pop
