#include "shoal/video/keyframe/split.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "shoal/base/text/printable.h"
#include "shoal/engine/device/cut.h"

namespace shoal::keyframe {
namespace {

size_t index_of(ValueId id) { return static_cast<size_t>(id); }

bool contains(std::span<const ValueId> ids, ValueId id) {
  return std::ranges::find(ids, id) != ids.end();
}

// What `wanted` needs: nodes in order, and by value whether it is read.
struct Needs {
  std::vector<size_t> nodes;
  std::vector<bool> values;
};

// Nodes that make one of `given` are not needed for that.
Needs needs_of(const Graph& graph, std::span<const ValueId> wanted,
               std::span<const ValueId> given) {
  Needs needs{{}, std::vector<bool>(graph.value_count(), false)};
  for (const ValueId id : wanted) needs.values[index_of(id)] = true;
  for (size_t n = graph.nodes().size(); n-- > 0;) {
    const Node& node = graph.nodes()[n];
    const auto is_needed = [&](ValueId id) {
      return needs.values[index_of(id)] && !contains(given, id);
    };
    if (std::ranges::none_of(node.outputs, is_needed)) continue;
    needs.nodes.push_back(n);
    for (const ValueId id : node.inputs) {
      if (id != kNoValue) needs.values[index_of(id)] = true;
    }
  }
  std::ranges::reverse(needs.nodes);
  return needs;
}

// Whether values depend on an input of the graph.
std::vector<bool> depend_on_inputs(const Graph& graph) {
  std::vector<bool> depends(graph.value_count(), false);
  for (const ValueId id : graph.inputs()) depends[index_of(id)] = true;
  for (const Node& node : graph.nodes()) {
    const bool any = node.op->random || std::ranges::any_of(node.inputs, [&](ValueId id) {
                       return id != kNoValue && depends[index_of(id)];
                     });
    for (const ValueId id : node.outputs) depends[index_of(id)] = any;
  }
  return depends;
}

bool is_image(const TensorType& type) {
  return type.dtype == DType::kF32 && type.shape.rank() == 4 && type.shape[2] > 1 &&
         type.shape[3] > 1;
}

// Where each value is made, and read last, as positions between nodes: one that is made before
// position p and read after it crosses p.
struct Lifetime {
  size_t made = 0, read = 0;
};

std::vector<Lifetime> lifetimes_of(const Graph& graph) {
  std::vector<Lifetime> all(graph.value_count());
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    for (const ValueId id : graph.nodes()[n].outputs) all[index_of(id)].made = n + 1;
    for (const ValueId id : graph.nodes()[n].inputs) {
      if (id != kNoValue) all[index_of(id)].read = n + 1;
    }
  }
  for (const ValueId id : graph.outputs()) all[index_of(id)].read = graph.nodes().size() + 1;
  return all;
}

}  // namespace

Result<SplitNetwork> split_at(const Graph& network, std::span<const ValueId> at) {
  const Needs features = needs_of(network, at, {});
  const Needs task = needs_of(network, network.outputs(), at);
  for (const ValueId id : network.inputs()) {
    if (!task.values[index_of(id)]) continue;
    return invalid("the network reads " + printable(network[id].name) +
                   " other than through the values at which it is to be split");
  }
  for (const ValueId id : at) {
    if (task.values[index_of(id)] && !network[id].constant) continue;
    return invalid("no output of the network needs " + printable(network[id].name));
  }
  SplitNetwork split;
  const std::vector<ValueId> inputs(network.inputs().begin(), network.inputs().end());
  const std::vector<ValueId> outputs(network.outputs().begin(), network.outputs().end());
  const std::vector<ValueId> values(at.begin(), at.end());
  SHOAL_ASSIGN(split.features, graph_of_part(network, {0, features.nodes, inputs, values}));
  SHOAL_ASSIGN(split.task, graph_of_part(network, {1, task.nodes, values, outputs}));
  split.features_macs = total_macs(split.features);
  split.task_macs = total_macs(split.task);
  return split;
}

Result<std::vector<ValueId>> find_cut(const Graph& network, const CutOptions& options) {
  const std::vector<Lifetime> lifetimes = lifetimes_of(network);
  const std::vector<bool> depends = depend_on_inputs(network);
  const auto all = static_cast<double>(total_macs(network));
  double after = all;
  std::vector<ValueId> best;
  for (size_t p = 1; p <= network.nodes().size(); ++p) {
    after -= static_cast<double>(macs(network, network.nodes()[p - 1]));
    std::vector<ValueId> crossing;
    for (size_t v = 0; v < lifetimes.size(); ++v) {
      if (depends[v] && lifetimes[v].made <= p && lifetimes[v].read > p) {
        crossing.push_back(static_cast<ValueId>(v));
      }
    }
    const bool fits = !crossing.empty() && crossing.size() <= options.most_values &&
                      std::ranges::all_of(crossing, [&](ValueId id) {
                        return lifetimes[index_of(id)].made > 0 && is_image(network[id].type);
                      });
    if (!fits) continue;
    best = std::move(crossing);
    if (after <= options.task_share * all) break;
  }
  if (best.empty()) {
    return Status(Code::kUnsupported,
                  "the network cannot be split: at no place all that is "
                  "computed so far is a few images of features");
  }
  return best;
}

}  // namespace shoal::keyframe
