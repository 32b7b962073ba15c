// The graph of one training step, made from a network for inference.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
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

// The values that training learns by default: the parameters of all nodes, each once, in the order
// of their first readers.
std::vector<ValueId> learned_values(const Graph& graph);

// The scores of a network's classes: its output, or the input of its last Softmax. REQUIRES: the
// network has an output.
ValueId scores_of(const Graph& network);

// The factor of Dropout in training: 1 / (1 - ratio), or 0 with probability `ratio`.
struct Mask {
  TensorType type;     // of what it multiplies
  double ratio = 0.5;  // that is dropped
};

// Inputs: the network's, the loss's targets, masks, statistics, parameters.
// Outputs: the network's first, the loss, statistics as they are after the step, gradients.
struct StepGraph {
  Graph graph;                      // with the inputs and outputs above, in that order
  size_t targets = 0;               // how many
  std::vector<Mask> masks;          // what each is drawn from
  std::vector<ValueId> statistics;  // constants of the network that are measured on the way
  std::vector<ValueId> parameters;  // constants of the network that are learned
};

// The loss to learn from, and the constants that are not learned.
struct StepOptions {
  Loss loss = {};  // what is made small
  // Constants that stay as they are, by name. A BatchNormalization whose scale does measures
  // nothing either.
  std::function<bool(std::string_view)> frozen = {};
  // A network with several outputs, such as exits at several depths, learns all of them at once:
  // the loss is the sum of theirs, each times its weight. One weight per output, none negative and
  // one positive; empty: the network has one output.
  std::vector<float> output_weights = {};
  // This share of the loss of each output but the first asks for the answers of the first, at
  // loss.temperature: self-distillation (Zhang et al. 2019). The first does not learn from that.
  float self_distill = 0;
  // Adds this much of the mean distance between the ends of the network's stages and a teacher's
  // (features.h), whose types are given, stage by stage: they are the last targets of the step.
  float distill_features = 0;
  std::vector<TensorType> teacher_features = {};
};

// Puts the loss behind a network with one input and one output, or as many outputs as there are
// weights (before the Softmax, if the first ends with one and the loss is a cross-entropy); lets
// BatchNormalization measure each batch and keep a running average, and Dropout drop what masks
// say, which are inputs: a step computes the same whenever it is repeated. And adds the gradients.
// Fails where the network has other inputs, outputs or stages, or an operator on the way has no
// gradient (kUnsupported, naming it).
Result<StepGraph> make_step_graph(const Graph& network, const StepOptions& options = {});

}  // namespace shoal::train

#pragma GCC visibility pop
