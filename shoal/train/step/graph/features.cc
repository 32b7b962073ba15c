#include "shoal/train/step/graph/features.h"

#include <optional>
#include <set>
#include <utility>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/ops.h"

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

}  // namespace

std::vector<ValueId> stage_ends(const Graph& network) {
  using Side = std::pair<int64_t, int64_t>;
  const auto side = [&](ValueId id) -> std::optional<Side> {
    const TensorType& type = network[id].type;
    if (type.dtype != DType::kF32 || type.shape.rank() != 4) return std::nullopt;
    const Side found(type.shape[2], type.shape[3]);
    return found.first * found.second > 1 ? std::optional(found) : std::nullopt;
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

}  // namespace shoal::train
