// Converts the scores of a network for a few classes to all classes of its task [Han 2016].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shoal/model/tensor/tensor.h"

namespace shoal::serve {

// A network for a few classes. One output more than classes is "another class".
struct SpecialNetwork {
  std::vector<int64_t> classes = {};  // that its outputs stand for
  double threshold = 0;               // the probability from which on it answers
};

// The scores [items, classes] that its own scores [items, outputs] imply: probabilities, or their
// logarithms if the task's scores are not probabilities. The share of "another class" is divided
// among the others. nullopt unless it answers for every item; or for scores of another shape.
std::optional<Tensor> scores_for_all(const SpecialNetwork& network, const Tensor& scores,
                                     int64_t classes, bool probabilities);

// The class with the highest score of each item; none unless scores are f32 [items, classes].
std::vector<size_t> best_classes(const Tensor& scores);

}  // namespace shoal::serve
