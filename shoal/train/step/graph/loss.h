// The loss: the number that training minimises, appended to the graph of a network.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::train {

// The choice of a loss. A value.
struct Loss {
  // The objects of comparison: classes with scores, or values with values.
  enum class Kind { kCrossEntropy, kMeanSquare };
  Kind kind = Kind::kCrossEntropy;  // which of them

  // Cross-entropy, the mean over the batch of -sum(t * log p) where p is the softmax of the scores.
  bool soft = false;    // t is given as probabilities, not as labels
  float smoothing = 0;  // this share of t is spread over all classes
  float focal = 0;      // each term counts (1 - p)^focal: what is known well counts less

  // This share of the loss asks for the answers of a teacher, the rest for the target: the
  // Kullback-Leibler divergence of the two softmaxes of scores / temperature, times temperature^2,
  // which keeps the size of its gradients (Hinton et al. 2015).
  float distill = 0;
  float temperature = 1;
};

// An input that the loss reads beside the scores.
struct Target {
  std::string name;  // of the input in the graph of a step
  TensorType type;   // with the network's batch
};

// The targets of a loss: labels (i64 [batch]), probabilities or values (like the scores); then the
// teacher's scores, if there is one. Fails with kInvalidArgument for scores of a shape that the
// loss is not defined for.
Result<std::vector<Target>> targets_of(const Loss& loss, const TensorType& scores);

// Appends the loss to `graph` and returns its value, one number. `targets` are those of
// targets_of(), in its order. Fails as the operators' inference does; the graph may then have some
// of the nodes. REQUIRES: the type of `scores` passed targets_of().
Result<ValueId> add_loss(Graph& graph, const Loss& loss, ValueId scores,
                         std::span<const ValueId> targets);

}  // namespace shoal::train

#pragma GCC visibility pop
