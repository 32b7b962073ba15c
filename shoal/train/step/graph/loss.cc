// Losses as subgraphs, for scores s [n, c], with p = softmax(s) along the classes:
//
//   cross-entropy  -1/n sum t log p,  where t is one-hot or given, then (1 - a) t + a / c
//   focal          -1/n sum t (1 - p)^f log p                             (Lin et al. 2017)
//   distillation   T^2/n sum q (log q - log softmax(s / T)),  where q = softmax(teacher / T)
//   mean square    mean((x - t)^2)
//
// The plain cross-entropy of labels is one operator, whose gradient (p - t) / n has no logarithm.
// The others are composed of log_softmax and elementwise operators, and differentiation does the
// rest.
#include "shoal/train/step/graph/loss.h"

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/ops.h"

namespace shoal::train {
namespace {

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
  const ValueId given = loss.soft ? target : one_hot(chain, target, classes);
  const ValueId logarithms = chain.add(ops::log_softmax, {scores}, kAlongClasses);
  ValueId terms =
      chain.add(ops::mul, {smoothed(chain, given, loss.smoothing, classes), logarithms});
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

}  // namespace shoal::train
