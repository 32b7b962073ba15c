// Embeddings: faces as directions, so that one person's are near each other.
#pragma once

#include <span>
#include <vector>

#pragma GCC visibility push(default)

namespace shoal::faces {

// Of length 1, or a mean of such.
using Embedding = std::vector<float>;

// A vector at length 1; one without a direction (zero, or not finite) becomes zero.
Embedding normalised(std::span<const float> v);

// The square of the Euclidean distance: 2 - 2 cosine for vectors of length 1. REQUIRES: as many
// elements.
double distance(std::span<const float> a, std::span<const float> b);

// The mean moves towards a new vector: (1 - alpha) mean + alpha v. REQUIRES: as many elements.
void move_mean(Embedding& mean, std::span<const float> v, double alpha);

}  // namespace shoal::faces

#pragma GCC visibility pop
