// What training makes small: one number, appended to the graph of a network.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::train {

// Which number that is.
struct Loss {
  // What it compares: classes with scores, or values with values.
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

// Labels (i64 [batch]), probabilities or values (like the scores); then the teacher's scores, if
// there is one. Refuses (kInvalidArgument) scores that the loss is not about.
Result<std::vector<Target>> targets_of(const Loss& loss, const TensorType& scores);

// The value that is the loss; `targets` as targets_of says.
Result<ValueId> add_loss(Graph& graph, const Loss& loss, ValueId scores,
                         std::span<const ValueId> targets);

}  // namespace shoal::train

#pragma GCC visibility pop
