// The rules of optimizer.cc as nodes, one chain per weight. Numbers that change per step are scalar
// inputs, so that one compiled graph serves all: the rate, and Adam's bias corrections, which the
// host computes in f64.
#include "shoal/train/step/trainer/update_graph.h"

#include <cmath>
#include <string>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::train {
namespace {

using Rule = OptimizerOptions::Rule;
using ops::Chain;

// Scalars of each rule, in the order of the graph's inputs. SGD has the first only.
enum Scalar : size_t { kRate, kCorrectedRate, kRoot, kKeep };

struct Slot {
  ValueId weight, gradient;
  std::vector<ValueId> memories;
};
struct Updated {
  ValueId weight;
  std::vector<ValueId> memories;
};

class Builder {
 public:
  Builder(Graph& graph, const OptimizerOptions& options, ValueId like)
      : options_(options), graph_(graph), chain_(graph, like) {}

  void add_scalars(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      scalars_.push_back(graph_.add_input("update." + std::to_string(i), {DType::kF32, {}}));
    }
  }

  // The norm of all gradients taken together. With clipping it also sets the factor of the
  // gradients; a norm of zero gives min(1, infinity) = 1.
  ValueId add_norm(const std::vector<ValueId>& gradients) {
    std::vector<ValueId> squares;
    for (ValueId gradient : gradients) {
      squares.push_back(chain_.add(ops::reduce_sum_square, {gradient}, {{"keepdims", int64_t{0}}}));
    }
    const ValueId norm = chain_.add(ops::sqrt, {chain_.add(ops::sum, squares)});
    if (options_.max_norm > 0) {
      const ValueId most = chain_.scalar(options_.max_norm);
      scale_ = chain_.add(ops::min, {chain_.scalar(1), chain_.add(ops::div, {most, norm})});
    }
    return norm;
  }

  Updated update(const Slot& slot) {
    return options_.rule == Rule::kSgd ? descend(slot) : adapt(slot);
  }

  Status status() const { return chain_.status(); }

 private:
  ValueId mul(ValueId a, ValueId b) { return chain_.add(ops::mul, {a, b}); }
  ValueId add(ValueId a, ValueId b) { return chain_.add(ops::add, {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return chain_.add(ops::sub, {a, b}); }
  ValueId times(ValueId a, double factor) { return mul(a, chain_.scalar(factor)); }

  bool decays(const Slot& slot) const {
    return options_.weight_decay != 0 && graph_[slot.weight].type.shape.rank() > 1;
  }

  // The gradient after clipping and, for the rules that add it there, after weight decay.
  ValueId gradient_of(const Slot& slot) {
    const ValueId g = scale_ == kNoValue ? slot.gradient : mul(slot.gradient, scale_);
    if (!decays(slot) || options_.rule == Rule::kAdamW) return g;
    return add(g, times(slot.weight, options_.weight_decay));
  }

  // SGD: v = momentum * v + g;  w -= rate * v, or with Nesterov rate * (g + momentum * v).
  Updated descend(const Slot& slot) {
    const ValueId g = gradient_of(slot);
    const ValueId v = add(times(slot.memories[0], options_.momentum), g);
    const ValueId along = options_.nesterov ? add(g, times(v, options_.momentum)) : v;
    return {sub(slot.weight, mul(along, scalars_[kRate])), {v}};
  }

  // Adam: m += (1 - beta1) * (g - m), v += (1 - beta2) * (g^2 - v),
  // w = keep * w - corrected_rate * m / (sqrt(v) * root + epsilon). AdamW alone has keep < 1.
  Updated adapt(const Slot& slot) {
    const ValueId g = gradient_of(slot);
    const auto follow = [&](ValueId mean, ValueId x, float beta) {
      return add(mean, times(sub(x, mean), 1 - beta));
    };
    const ValueId m = follow(slot.memories[0], g, options_.beta1);
    const ValueId v = follow(slot.memories[1], mul(g, g), options_.beta2);
    const ValueId root = mul(chain_.add(ops::sqrt, {v}), scalars_[kRoot]);
    const ValueId below = add(root, chain_.scalar(options_.epsilon));
    const ValueId step = chain_.add(ops::div, {mul(m, scalars_[kCorrectedRate]), below});
    const bool keeps = options_.rule == Rule::kAdamW && decays(slot);
    return {sub(keeps ? mul(slot.weight, scalars_[kKeep]) : slot.weight, step), {m, v}};
  }

  const OptimizerOptions& options_;
  Graph& graph_;
  Chain chain_;
  std::vector<ValueId> scalars_;
  ValueId scale_ = kNoValue;
};

// The state exists twice on the device: a step reads `state_` and writes `next_`, and the two are
// swapped if loss and norm are finite. So a failed step leaves no trace.

enum Output : size_t { kScores, kLoss, kFirstStatistic };

Result<float> number(const DeviceValue& value) {
  SHOAL_ASSIGN(const Tensor tensor, value.to_host());
  return tensor.data<float>()[0];
}

}  // namespace

std::vector<float> update_scalars(const OptimizerOptions& options, int64_t step, double factor) {
  const auto rate = static_cast<float>(options.rate * factor);
  if (options.rule == Rule::kSgd) return {rate};
  const auto t = static_cast<double>(step);
  return {rate, static_cast<float>(rate / (1 - std::pow(double{options.beta1}, t))),
          static_cast<float>(1 / std::sqrt(1 - std::pow(double{options.beta2}, t))),
          1 - rate * options.weight_decay};
}

Result<UpdateGraph> add_update(const Graph& step, size_t weights, const OptimizerOptions& options) {
  SHOAL_CHECK(weights > 0 && weights <= step.inputs().size() && weights <= step.outputs().size());
  passes::Rewriter rewriter(step);
  for (const Node& node : step.nodes()) SHOAL_TRY(rewriter.copy(node));
  Graph& graph = rewriter.to();
  const size_t first_weight = step.inputs().size() - weights;
  const size_t first_gradient = step.outputs().size() - weights;
  std::vector<Slot> slots;
  std::vector<ValueId> gradients;
  for (size_t i = 0; i < weights; ++i) {
    slots.push_back({rewriter.map(step.inputs()[first_weight + i]),
                     rewriter.map(step.outputs()[first_gradient + i]),
                     {}});
    gradients.push_back(slots[i].gradient);
  }
  Builder builder(graph, options, slots[0].weight);
  const size_t scalars = update_scalars(options, 1, 1).size();
  builder.add_scalars(scalars);
  const std::vector<std::string> roles = Optimizer::roles(options);
  for (const std::string& role : roles) {
    for (Slot& slot : slots) {
      const Value weight = graph[slot.weight];
      slot.memories.push_back(graph.add_input(weight.name + "." + role, weight.type));
    }
  }
  const ValueId norm = builder.add_norm(gradients);
  std::vector<Updated> updated;
  for (const Slot& slot : slots) updated.push_back(builder.update(slot));
  SHOAL_TRY(builder.status());
  for (size_t i = 0; i < first_gradient; ++i) graph.mark_output(rewriter.map(step.outputs()[i]));
  graph.mark_output(norm);
  for (const Updated& u : updated) graph.mark_output(u.weight);
  for (size_t r = 0; r < roles.size(); ++r) {
    for (const Updated& u : updated) graph.mark_output(u.memories[r]);
  }
  return UpdateGraph{std::move(graph), weights, scalars, roles.size() * weights};
}

Result<ResidentStep> ResidentStep::create(Device& device, const UpdateGraph& update,
                                          size_t statistics) {
  ResidentStep step(device, update, statistics);
  SHOAL_ASSIGN(step.executable_, device.compile(update.graph));
  return step;
}

Status ResidentStep::put(const ResidentState& state) {
  std::vector<DeviceValue> values;
  for (const auto* tensors : {&state.statistics, &state.weights, &state.memories}) {
    for (const Tensor& tensor : *tensors) {
      SHOAL_ASSIGN(DeviceValue value, device_->upload(tensor.clone()));
      values.push_back(std::move(value));
    }
  }
  SHOAL_CHECK(values.size() == statistics_ + weights_ + memories_);
  state_ = std::move(values);
  next_.assign(state_.size(), {});
  return {};
}

Result<ResidentState> ResidentStep::get() const {
  std::vector<Tensor> tensors;
  for (const DeviceValue& value : state_) {
    SHOAL_ASSIGN(const Tensor tensor, value.to_host());
    // A device in host memory gives the tensor that a later step writes to.
    tensors.push_back(value.host() != nullptr ? tensor.clone() : tensor);
  }
  const auto weights = tensors.begin() + static_cast<int64_t>(statistics_);
  const auto memories = weights + static_cast<int64_t>(weights_);
  return ResidentState{{tensors.begin(), weights}, {weights, memories}, {memories, tensors.end()}};
}

Result<ResidentStep::Outcome> ResidentStep::run(std::span<const Tensor> batch,
                                                std::span<const float> scalars) {
  SHOAL_CHECK(scalars.size() == scalars_ && !state_.empty());
  const auto memories = state_.end() - static_cast<int64_t>(memories_);
  // Inputs: batch, statistics, weights, scalars, memories. Outputs: scores, loss, statistics, norm,
  // weights, memories. UpdateGraph defines the order.
  std::vector<DeviceValue> inputs(batch.begin(), batch.end());
  inputs.insert(inputs.end(), state_.begin(), memories);
  for (float scalar : scalars) inputs.emplace_back(Tensor::of<float>({}, {scalar}));
  inputs.insert(inputs.end(), memories, state_.end());

  const auto after_statistics = next_.begin() + static_cast<int64_t>(statistics_);
  std::vector<DeviceValue> outputs(kFirstStatistic);
  outputs.insert(outputs.end(), next_.begin(), after_statistics);
  const size_t norm = outputs.size();
  outputs.emplace_back();
  outputs.insert(outputs.end(), after_statistics, next_.end());
  SHOAL_TRY(executable_->run_values(inputs, outputs, {}));

  Outcome outcome;
  SHOAL_ASSIGN(outcome.scores, outputs[kScores].to_host());
  SHOAL_ASSIGN(outcome.loss, number(outputs[kLoss]));
  // Without the norm, the outputs are in the order of the state.
  SHOAL_ASSIGN(outcome.norm, number(outputs[norm]));
  outputs.erase(outputs.begin() + static_cast<int64_t>(norm));
  next_.assign(outputs.begin() + kFirstStatistic, outputs.end());
  if (std::isfinite(outcome.loss) && std::isfinite(outcome.norm)) std::swap(state_, next_);
  return outcome;
}

}  // namespace shoal::train
