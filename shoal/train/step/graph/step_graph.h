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
  // Classes against scores, or values against values.
  enum class Kind { kCrossEntropy, kMeanSquare };
  Kind kind = Kind::kCrossEntropy;  // which of them

  // Cross-entropy, the mean over the batch of -sum(t * log p) where p is the softmax of the scores.
  bool soft = false;    // t is probabilities, not labels
  float smoothing = 0;  // this share of t is spread over all classes
  float focal = 0;      // each term is weighted by (1 - p)^focal

  // The share of the loss that compares with a teacher: the Kullback-Leibler divergence of the
  // softmaxes of scores / temperature, times temperature^2 to keep the size of gradients (Hinton et
  // al. 2015).
  float distill = 0;
  float temperature = 1;
};

// An input of the loss besides the scores.
struct Target {
  std::string name;  // of the input in the graph of a step
  TensorType type;   // with the network's batch
};

// The targets of a loss: labels (i64 [batch]), probabilities or values (like the scores); then the
// teacher's scores, if any. kInvalidArgument for scores of a shape that the loss is not defined
// for.
Result<std::vector<Target>> targets_of(const Loss& loss, const TensorType& scores);

// Appends the loss to `graph` and returns it. `targets` are in the order of targets_of(). Fails as
// the operators' inference does; the graph may then have some of the nodes. REQUIRES: the type of
// `scores` passed targets_of().
Result<ValueId> add_loss(Graph& graph, const Loss& loss, ValueId scores,
                         std::span<const ValueId> targets);

// The default learned values: the parameters of all nodes, each once, in the order of their first
// readers.
std::vector<ValueId> learned_values(const Graph& graph);

// The scores of a network's classes: its output, or the input of its last Softmax. REQUIRES: the
// network has an output.
ValueId scores_of(const Graph& network);

// The factor of Dropout in training: 1 / (1 - ratio), or 0 with probability `ratio`.
struct Mask {
  TensorType type;     // of what it multiplies
  double ratio = 0.5;  // that is dropped
};

// Inputs: the network's, targets, masks, statistics, parameters. Outputs: the network's first, the
// loss, updated statistics, gradients.
struct StepGraph {
  Graph graph;                      // with the inputs and outputs above, in that order
  size_t targets = 0;               // their number
  std::vector<Mask> masks;          // the distribution of each
  std::vector<ValueId> statistics;  // constants of the network that are measured
  std::vector<ValueId> parameters;  // constants of the network that are learned
};

// The loss, and the constants that are not learned.
struct StepOptions {
  Loss loss = {};  // what is made small
  // Constants that do not change, by name. A BatchNormalization with a frozen scale measures
  // nothing either.
  std::function<bool(std::string_view)> frozen = {};
  // A network with several outputs, such as exits, learns the weighted sum of their losses. One
  // weight per output, none negative and one positive; empty: one output.
  std::vector<float> output_weights = {};
  // Self-distillation (Zhang et al. 2019): this share of the loss of each later output compares
  // with the first output, at loss.temperature. The first does not learn from that.
  float self_distill = 0;
  // The weight of the mean distance between the ends of the network's stages and a teacher's
  // (features.h), whose types are given: they are the last targets of the step.
  float distill_features = 0;
  std::vector<TensorType> teacher_features = {};
};

// Adds the loss to a network with one input and one output, or one output per weight (before the
// Softmax if the first ends with one and the loss is a cross-entropy), and the gradients.
// BatchNormalization measures each batch and keeps a running average; Dropout reads masks, which
// are inputs, so a step can be repeated exactly. Fails if the network has other inputs, outputs or
// stages, and with kUnsupported, naming it, if an operator has no gradient.
Result<StepGraph> make_step_graph(const Graph& network, const StepOptions& options = {});

}  // namespace shoal::train

#pragma GCC visibility pop
