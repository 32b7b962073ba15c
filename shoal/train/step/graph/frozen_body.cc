// The cut between frozen body and learned head. A node belongs to the head if it reads a learned
// value, measures statistics, draws random numbers, or reads a value of the head. The head is
// closed under reading, so all other nodes form the body, and the body never reads from the head.
// The cut is of use only if one value crosses it: that value is then the input of the head.
#include "shoal/train/step/graph/frozen_body.h"

#include <algorithm>
#include <set>
#include <vector>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::train {
namespace {

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
  std::set<ValueId> made(network.inputs().begin(), network.inputs().end()), crossing;
  for (size_t n = 0; n < changes.size(); ++n) {
    const Node& node = network.nodes()[n];
    if (!changes[n]) {
      made.insert(node.outputs.begin(), node.outputs.end());
      continue;
    }
    for (ValueId id : node.inputs) {
      if (made.contains(id)) crossing.insert(id);
    }
  }
  // Without a node in the body there is nothing to save.
  const bool is_input = crossing.size() == 1 && *crossing.begin() == network.inputs()[0];
  return crossing.size() == 1 && !is_input ? *crossing.begin() : kNoValue;
}

}  // namespace

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
