#include "shoal/train/step/graph/features.h"

#include <algorithm>
#include <set>
#include <utility>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::train {
namespace {

using ops::Chain;

// A teacher whose channels are all constant says nothing of scale.
constexpr double kLeast = 1e-6;

ValueId mean_over(Chain& chain, ValueId x, const std::vector<int64_t>& axes) {
  const Shape shape = chain.shape_of(x);
  double count = 1;
  for (int64_t axis : axes) count *= static_cast<double>(shape[static_cast<size_t>(axis)]);
  return chain.add(ops::mul, {chain.reduce_sum(x, axes), chain.scalar(1 / count)});
}

ValueId squared(Chain& chain, ValueId x) { return chain.add(ops::mul, {x, x}); }

ValueId mean_square(Chain& chain, ValueId x) {
  return chain.reshape(mean_over(chain, squared(chain, x), {0, 1, 2, 3}), {});
}

// The cut between frozen body and trained head. A node is in the head if it reads a learned value
// or a value of the head, measures statistics, or draws random numbers. The body never reads from
// the head. The cut is of use only if one value crosses it: the input of the head.

constexpr size_t kScaleOfNorm = 1;

// Whether each node changes in training: itself, or by what it reads.
std::vector<bool> changing_nodes(const Graph& network, const StepOptions& options) {
  const auto frozen = [&](ValueId id) {
    return options.frozen && options.frozen(network[id].name);
  };
  std::set<ValueId> changing;
  for (ValueId id : learned_values(network)) {
    if (!frozen(id)) changing.insert(id);
  }
  std::vector<bool> nodes;
  for (const Node& node : network.nodes()) {
    // A BatchNormalization whose scale is not frozen measures its batches: its running statistics
    // change in every step.
    const bool measures =
        node.op == &ops::batch_normalization && !frozen(node.inputs[kScaleOfNorm]);
    const bool reads =
        std::ranges::any_of(node.inputs, [&](ValueId id) { return changing.contains(id); });
    // Masks of Dropout differ from step to step.
    nodes.push_back(measures || reads || node.op->random);
    if (nodes.back()) changing.insert(node.outputs.begin(), node.outputs.end());
  }
  return nodes;
}

// The one value that goes from the body to the head, if it is one.
ValueId features_of(const Graph& network, const std::vector<bool>& changes) {
  std::set<ValueId> result(network.inputs().begin(), network.inputs().end()), crossing;
  for (size_t n = 0; n < changes.size(); ++n) {
    const Node& node = network.nodes()[n];
    if (!changes[n]) {
      result.insert(node.outputs.begin(), node.outputs.end());
      continue;
    }
    for (ValueId id : node.inputs) {
      if (result.contains(id)) crossing.insert(id);
    }
  }
  // Without a node in the body there is nothing to save.
  const bool is_input = crossing.size() == 1 && *crossing.begin() == network.inputs()[0];
  return crossing.size() == 1 && !is_input ? *crossing.begin() : kNoValue;
}

}  // namespace

std::vector<ValueId> stage_ends(const Graph& network) {
  using Side = std::pair<int64_t, int64_t>;
  const auto side = [&](ValueId id) -> std::optional<Side> {
    const TensorType& type = network[id].type;
    if (type.dtype != DType::kF32 || type.shape.rank() != 4) return std::nullopt;
    const Side size(type.shape[2], type.shape[3]);
    return size.first * size.second > 1 ? std::optional(size) : std::nullopt;
  };
  // A Slice on the way of a shortcut may have a size of its own, and nothing is learned there.
  std::set<Side> learned;
  for (const Node& node : network.nodes()) {
    const auto own = side(node.outputs[0]);
    if (own && macs(network, node) > 0) learned.insert(*own);
  }
  std::vector<ValueId> ends;
  for (const Node& node : network.nodes()) {
    const ValueId id = node.outputs[0];
    const auto own = side(id);
    if (!own || !learned.contains(*own)) continue;
    std::erase_if(ends, [&](ValueId end) { return side(end) == own; });
    ends.push_back(id);
  }
  return ends;
}

Result<ValueId> add_feature_loss(Graph& graph, ValueId features, ValueId teacher) {
  const TensorType own = graph[features].type, other = graph[teacher].type;
  if (own != other || own.shape.rank() != 4) {
    return invalid("the teacher's features are " + to_string(other) + ", the network's " +
                   to_string(own));
  }
  Chain chain(graph, features);
  const ValueId mean = mean_over(chain, teacher, {0, 2, 3});
  const ValueId variance = mean_square(chain, chain.add(ops::sub, {teacher, mean}));
  const ValueId distance = mean_square(chain, chain.add(ops::sub, {features, teacher}));
  const ValueId unit = chain.add(ops::add, {variance, chain.scalar(kLeast)});
  const ValueId loss = chain.add(ops::div, {distance, unit});
  SHOAL_TRY(chain.status());
  return loss;
}

Result<std::optional<Parted>> part_frozen_body(const Graph& network, const StepOptions& options) {
  const std::vector<bool> changes = changing_nodes(network, options);
  const ValueId features = features_of(network, changes);
  if (features == kNoValue) return std::optional<Parted>();
  passes::Rewriter body(network);
  Graph head;
  std::vector<ValueId> in_head(network.value_count(), kNoValue);
  const auto at = [&](ValueId id) -> ValueId& { return in_head[static_cast<size_t>(id)]; };
  at(features) = head.add_input(network[features].name, network[features].type);
  for (size_t n = 0; n < changes.size(); ++n) {
    const Node& node = network.nodes()[n];
    if (!changes[n]) {
      SHOAL_TRY(body.copy(node));
      continue;
    }
    std::vector<ValueId> inputs;
    for (ValueId id : node.inputs) {
      // Only constants are left here: features_of() made sure that no other value crosses.
      if (id != kNoValue && at(id) == kNoValue) {
        at(id) = head.add_constant(network[id].name, *network[id].constant);
      }
      inputs.push_back(id == kNoValue ? kNoValue : at(id));
    }
    std::vector<std::string> names;
    for (ValueId id : node.outputs) names.push_back(network[id].name);
    SHOAL_ASSIGN(const std::vector<ValueId> outputs,
                 head.add_node(*node.op, inputs, node.attributes, names, node.name));
    for (size_t i = 0; i < outputs.size(); ++i) at(node.outputs[i]) = outputs[i];
  }
  for (ValueId id : network.outputs()) {
    // The whole network is frozen, or all of it up to one of its outputs.
    if (at(id) == kNoValue || id == features) return std::optional<Parted>();
    head.mark_output(at(id));
  }
  body.to().mark_output(body.map(features));
  return std::optional(Parted{std::move(body.to()), std::move(head)});
}

}  // namespace shoal::train
