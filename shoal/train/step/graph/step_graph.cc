// The step graph: the network is copied in its training form, the loss is appended, and
// differentiate() appends the gradients. Passes run over all of it, so both passes share
// subexpressions.
//
// All state is an input or an output: masks of Dropout, running statistics, parameters. So the
// graph is a pure function, and a step can be repeated, recomputed or run on another machine.
#include "shoal/train/step/graph/step_graph.h"

#include <algorithm>
#include <cmath>

#include "shoal/model/graph/parameter.h"
#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/train/step/graph/differentiate.h"
#include "shoal/train/step/graph/features.h"

namespace shoal::train {
namespace {

// Losses as subgraphs, for scores s [n, c], with p = softmax(s) along the classes:
//
//   cross-entropy  -1/n sum t log p,  where t is one-hot or given, then (1 - a) t + a / c
//   focal          -1/n sum t (1 - p)^f log p                             (Lin et al. 2017)
//   distillation   T^2/n sum q (log q - log softmax(s / T)),  where q = softmax(teacher / T)
//   mean square    mean((x - t)^2)
//
// The plain cross-entropy of labels is one operator, whose gradient (p - t) / n has no logarithm.
// The others are composed of log_softmax and elementwise operators.

using ops::Chain;

const Attributes kAlongClasses = {{"axis", int64_t{1}}};

// The sum of all elements of [batch, classes], times `sign` and divided by the batch.
ValueId mean_over_batch(Chain& chain, ValueId x, double sign) {
  const Shape shape = chain.shape_of(x);
  const ValueId sum = chain.reshape(chain.reduce_sum(x, std::vector<int64_t>{0, 1}), {});
  return chain.add(ops::mul, {sum, chain.scalar(sign / static_cast<double>(shape[0]))});
}

// Probabilities [batch, classes] of the labels [batch].
ValueId one_hot(Chain& chain, ValueId labels, int64_t classes) {
  const ValueId depth = chain.list(std::vector<int64_t>{classes});
  const ValueId off_on = chain.constant(Tensor::of<float>({2}, {0, 1}));
  return chain.add(ops::one_hot, {labels, depth, off_on}, {{"axis", int64_t{1}}});
}

ValueId smoothed(Chain& chain, ValueId target, double share, int64_t classes) {
  if (share == 0) return target;
  const ValueId kept = chain.add(ops::mul, {target, chain.scalar(1 - share)});
  return chain.add(ops::add, {kept, chain.scalar(share / static_cast<double>(classes))});
}

ValueId cross_entropy(Chain& chain, const Loss& loss, ValueId scores, ValueId target) {
  if (!loss.soft && loss.smoothing == 0 && loss.focal == 0) {
    return chain.add(ops::softmax_cross_entropy_loss, {scores, target});
  }
  const int64_t classes = chain.shape_of(scores)[1];
  const ValueId value = loss.soft ? target : one_hot(chain, target, classes);
  const ValueId logarithms = chain.add(ops::log_softmax, {scores}, kAlongClasses);
  ValueId terms =
      chain.add(ops::mul, {smoothed(chain, value, loss.smoothing, classes), logarithms});
  if (loss.focal > 0) {
    // Rounding brings p beyond 1, where 1 - p is negative and its power NaN. At 1 - p = 0 the slope
    // of the power is infinite for exponents below 1. The bound avoids both.
    constexpr double kLeast = 1e-6;
    const ValueId p = chain.add(ops::exp, {logarithms});
    const ValueId rest =
        chain.add(ops::max, {chain.add(ops::sub, {chain.scalar(1), p}), chain.scalar(kLeast)});
    const ValueId weight = chain.add(ops::pow, {rest, chain.scalar(loss.focal)});
    terms = chain.add(ops::mul, {terms, weight});
  }
  return mean_over_batch(chain, terms, -1);
}

// exp(log q) is taken instead of a softmax of its own, so that q and log q agree.
ValueId divergence(Chain& chain, float temperature, ValueId scores, ValueId teacher) {
  const auto softened = [&](ValueId x) {
    return chain.add(ops::log_softmax, {chain.add(ops::div, {x, chain.scalar(temperature)})},
                     kAlongClasses);
  };
  const ValueId wanted = softened(teacher);
  const ValueId difference = chain.add(ops::sub, {wanted, softened(scores)});
  const ValueId terms = chain.add(ops::mul, {chain.add(ops::exp, {wanted}), difference});
  return mean_over_batch(chain, terms, double{temperature} * double{temperature});
}

ValueId mean_square(Chain& chain, ValueId values, ValueId target) {
  const ValueId difference = chain.add(ops::sub, {values, target});
  const ValueId squares = chain.add(ops::mul, {difference, difference});
  return chain.add(ops::reduce_mean, {squares}, {{"keepdims", int64_t{0}}});
}

const Node* maker_of(const Graph& graph, ValueId id) {
  for (const Node& node : graph.nodes()) {
    if (std::ranges::find(node.outputs, id) != node.outputs.end()) return &node;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<Target>> targets_of(const Loss& loss, const TensorType& scores) {
  if (loss.kind == Loss::Kind::kMeanSquare) return std::vector<Target>{{"values", scores}};
  if (scores.shape.rank() != 2) {
    return invalid("the output is " + to_string(scores.shape) +
                   ", should be scores [batch, classes]");
  }
  std::vector<Target> targets;
  if (loss.soft) {
    targets.push_back({"probabilities", scores});
  } else {
    targets.push_back({"labels", {DType::kI64, {scores.shape[0]}}});
  }
  if (loss.distill > 0) targets.push_back({"teacher", scores});
  return targets;
}

Result<ValueId> add_loss(Graph& graph, const Loss& loss, ValueId scores,
                         std::span<const ValueId> targets) {
  Chain chain(graph, scores);
  ValueId total = kNoValue;
  if (loss.kind == Loss::Kind::kMeanSquare) {
    total = mean_square(chain, scores, targets[0]);
  } else {
    total = cross_entropy(chain, loss, scores, targets[0]);
    if (loss.distill > 0) {
      const ValueId taught = divergence(chain, loss.temperature, scores, targets[1]);
      const ValueId own = chain.add(ops::mul, {total, chain.scalar(1 - loss.distill)});
      total = chain.add(ops::add, {own, chain.add(ops::mul, {taught, chain.scalar(loss.distill)})});
    }
  }
  SHOAL_TRY(chain.status());
  return total;
}

ValueId scores_of(const Graph& network) {
  const ValueId output = network.outputs()[0];
  const Node* last = maker_of(network, output);
  return last != nullptr && last->op == &ops::softmax ? last->inputs[0] : output;
}

std::vector<ValueId> learned_values(const Graph& graph) {
  std::vector<ValueId> ids;
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool known = std::ranges::find(ids, node.inputs[i]) != ids.end();
      if (!known && is_parameter(graph, node, i)) ids.push_back(node.inputs[i]);
    }
  }
  return ids;
}

namespace {

// BatchNormalization's running mean and variance are its inputs 3 and 4, as outputs 1 and 2.
constexpr size_t kScaleOfNorm = 1, kFirstStatistic = 3, kStatistics = 2;
constexpr size_t kRatioOfDropout = 1;

class Builder {
 public:
  Builder(const Graph& network, const StepOptions& options)
      : network_(network), options_(options), rewriter_(network) {}

  Result<StepGraph> build() {
    // SoftmaxCrossEntropyLoss computes its own softmax, from the logarithm, which does not
    // underflow.
    const bool of_classes = options_.loss.kind == Loss::Kind::kCrossEntropy;
    std::vector<ValueId> scores(network_.outputs().begin(), network_.outputs().end());
    if (of_classes) scores[0] = scores_of(network_);
    SHOAL_TRY(require_alike(scores));
    SHOAL_ASSIGN(const auto wanted, targets_of(options_.loss, network_[scores[0]].type));
    std::vector<ValueId> targets;
    for (const Target& t : wanted) targets.push_back(rewriter_.to().add_input(t.name, t.type));
    std::vector<ValueId> features;
    for (const TensorType& type : options_.teacher_features) {
      features.push_back(rewriter_.to().add_input("feature", type));
    }
    // The order of the inputs is part of the interface: all masks come before the first statistic.
    for (const Node& node : network_.nodes()) {
      if (drops(node)) SHOAL_TRY(drop(node));
    }
    for (const Node& node : network_.nodes()) SHOAL_TRY(add(node));
    SHOAL_ASSIGN(ValueId loss, total_loss(rewriter_.map(scores), targets));
    if (!features.empty()) {
      SHOAL_ASSIGN(loss, with_features(loss, features));
    }
    SHOAL_ASSIGN(StepGraph step, differentiated(loss));
    step.targets = targets.size() + features.size();
    step.masks = std::move(masks_);
    return step;
  }

 private:
  // All outputs learn the same targets.
  Status require_alike(const std::vector<ValueId>& scores) const {
    for (ValueId id : scores) {
      if (network_[id].type == network_[scores[0]].type) continue;
      return invalid("output " + network_[id].name + " is " + to_string(network_[id].type) +
                     ", the first is " + to_string(network_[scores[0]].type));
    }
    return {};
  }

  // sum_i w_i loss_i over the outputs; without weights there is one output. With self-distillation
  // those after the first are taught by it, through a copy of its scores that has no gradient.
  Result<ValueId> total_loss(const std::vector<ValueId>& scores,
                             const std::vector<ValueId>& targets) {
    Graph& graph = rewriter_.to();
    if (options_.output_weights.empty()) return add_loss(graph, options_.loss, scores[0], targets);
    ops::Chain chain(graph, scores[0]);
    Loss taught = options_.loss;
    std::vector<ValueId> with_teacher = {targets[0]};
    if (options_.self_distill > 0) {
      taught.distill = options_.self_distill;
      fixed_ = {chain.add(ops::mul, {scores[0], chain.scalar(1)})};
      with_teacher.push_back(fixed_[0]);
    }
    ValueId total = kNoValue;
    for (size_t i = 0; i < scores.size(); ++i) {
      if (options_.output_weights[i] == 0) continue;
      const bool by_first = i > 0 && options_.self_distill > 0;
      SHOAL_ASSIGN(const ValueId own, by_first
                                          ? add_loss(graph, taught, scores[i], with_teacher)
                                          : add_loss(graph, options_.loss, scores[i], targets));
      const ValueId term =
          chain.add(ops::mul, {own, chain.scalar(double{options_.output_weights[i]})});
      total = total == kNoValue ? term : chain.add(ops::add, {total, term});
    }
    SHOAL_TRY(chain.status());
    return total;
  }

  // The loss and the mean distance from the teacher's features.
  Result<ValueId> with_features(ValueId loss, const std::vector<ValueId>& features) {
    Graph& graph = rewriter_.to();
    const std::vector<ValueId> own = rewriter_.map(stage_ends(network_));
    ops::Chain chain(graph, loss);
    const double each = double{options_.distill_features} / static_cast<double>(own.size());
    for (size_t i = 0; i < own.size(); ++i) {
      SHOAL_ASSIGN(const ValueId distance, add_feature_loss(graph, own[i], features[i]));
      loss = chain.add(ops::add, {loss, chain.add(ops::mul, {distance, chain.scalar(each)})});
    }
    SHOAL_TRY(chain.status());
    return loss;
  }

  // With one output it keeps its name; the names of several are of no use to a step.
  Result<Graph> forward() {
    if (network_.outputs().size() == 1) return rewriter_.finish();
    Graph graph = std::move(rewriter_.to());
    graph.mark_output(rewriter_.map(network_.outputs()[0]));
    return graph;
  }

  bool frozen(ValueId id) const { return options_.frozen && options_.frozen(network_[id].name); }

  static bool drops(const Node& node) {
    return node.op == &ops::dropout && node.outputs.size() == 1;
  }

  // Adds the input for the mask of this node. A Dropout with a second output is left alone: its
  // reader wants the mask itself.
  Status drop(const Node& node) {
    Mask mask{network_[node.outputs[0]].type};
    if (node.inputs.size() > kRatioOfDropout && node.inputs[kRatioOfDropout] != kNoValue) {
      const Value& ratio = network_[node.inputs[kRatioOfDropout]];
      if (!ratio.constant) {
        return Status(Code::kUnsupported, place_of(network_, node) + " has no constant ratio");
      }
      mask.ratio = ops::converted(*ratio.constant, DType::kF64).data<double>()[0];
    }
    if (mask.type.dtype != DType::kF32 || !(mask.ratio >= 0 && mask.ratio < 1)) {
      return Status(Code::kUnsupported,
                    place_of(network_, node) + " should drop less than all of f32 elements");
    }
    mask_inputs_.push_back(rewriter_.to().add_input("mask", mask.type));
    masks_.push_back(mask);
    return {};
  }

  Status add(const Node& node) {
    if (drops(node)) {
      const ValueId mask = mask_inputs_[next_mask_++];
      SHOAL_ASSIGN(const ValueId kept,
                   rewriter_.to().add(ops::mul, {rewriter_.map(node.inputs[0]), mask}));
      rewriter_.replace(node.outputs[0], kept);
      return {};
    }
    const bool measures =
        node.op == &ops::batch_normalization && !frozen(node.inputs[kScaleOfNorm]);
    return measures ? measure(node) : rewriter_.copy(node);
  }

  // The node as it trains: it normalises with the statistics of the batch and averages them.
  Status measure(const Node& node) {
    for (size_t i = kFirstStatistic; i < kFirstStatistic + kStatistics; ++i) {
      const Value& value = network_[node.inputs[i]];
      // Two nodes that write the same statistics would each overwrite the other's.
      const bool shared = std::ranges::find(statistics_, node.inputs[i]) != statistics_.end();
      if (!value.constant || shared) {
        return Status(Code::kUnsupported,
                      place_of(network_, node) + " has no running statistics of its own");
      }
      statistics_.push_back(node.inputs[i]);
      rewriter_.replace(node.inputs[i], rewriter_.to().add_input(value.name, value.type));
    }
    Attributes attributes = node.attributes;
    attributes["training_mode"] = int64_t{1};
    SHOAL_ASSIGN(const std::vector<ValueId> outputs,
                 rewriter_.to().add_node(*node.op, rewriter_.map(node.inputs), attributes,
                                         {network_[node.outputs[0]].name, "", ""}, node.name));
    rewriter_.replace(node.outputs[0], outputs[0]);
    measured_.insert(measured_.end(), outputs.begin() + 1, outputs.end());
    return {};
  }

  Result<StepGraph> differentiated(ValueId loss) {
    std::vector<ValueId> parameters = learned_values(network_);
    std::erase_if(parameters, [&](ValueId id) { return frozen(id); });
    if (parameters.empty()) return invalid("there is nothing to learn: all weights are frozen");
    const std::vector<ValueId> inside = rewriter_.map(parameters);
    SHOAL_ASSIGN(Graph forward, this->forward());
    forward.mark_output(loss);
    // Statistics become outputs before differentiation, so that they precede the gradients.
    for (ValueId id : measured_) forward.mark_output(id);
    SHOAL_ASSIGN(const Differentiated both, differentiate(forward, loss, inside, fixed_));
    SHOAL_ASSIGN(Graph step, passes::optimize(both.graph));
    return StepGraph{.graph = std::move(step),
                     .targets = 0,
                     .masks = {},
                     .statistics = statistics_,
                     .parameters = std::move(parameters)};
  }

  const Graph& network_;
  const StepOptions& options_;
  passes::Rewriter rewriter_;
  std::vector<Mask> masks_;
  std::vector<ValueId> mask_inputs_;
  size_t next_mask_ = 0;
  std::vector<ValueId> fixed_;                  // have no gradient
  std::vector<ValueId> statistics_, measured_;  // before the step, in the network; after it, here
};

// A teacher of other stages is found here; one of other sizes, where they are compared.
Status check_features(const Graph& network, const StepOptions& options) {
  const float weight = options.distill_features;
  if (!(weight >= 0 && std::isfinite(weight)) || (weight > 0) == options.teacher_features.empty()) {
    return invalid("features of a teacher and how much they count must be given together");
  }
  if (weight == 0) return {};
  const size_t stages = stage_ends(network).size();
  if (stages == options.teacher_features.size()) return {};
  return invalid("the network has " + std::to_string(stages) + " stages, the teacher " +
                 std::to_string(options.teacher_features.size()));
}

}  // namespace

Result<StepGraph> make_step_graph(const Graph& network, const StepOptions& options) {
  const std::vector<float>& weights = options.output_weights;
  if (network.inputs().size() != 1 || (weights.empty() && network.outputs().size() != 1)) {
    return invalid("only networks with one input and one output can be trained");
  }
  SHOAL_TRY(check_features(network, options));
  if (weights.empty()) return Builder(network, options).build();
  if (weights.size() != network.outputs().size()) {
    return invalid("there are " + std::to_string(weights.size()) + " weights for " +
                   std::to_string(network.outputs().size()) + " outputs");
  }
  // NaN is refused.
  const auto counts = [](float weight) { return weight >= 0 && std::isfinite(weight); };
  if (!std::ranges::all_of(weights, counts) ||
      std::ranges::none_of(weights, [](float weight) { return weight > 0; })) {
    return invalid("weights of outputs are numbers from 0 on, and one of them is above");
  }
  if (!(options.self_distill >= 0 && options.self_distill <= 1) ||
      (options.self_distill > 0 && options.loss.kind != Loss::Kind::kCrossEntropy)) {
    return invalid("self_distill is a share of a loss of classes");
  }
  return Builder(network, options).build();
}

}  // namespace shoal::train
