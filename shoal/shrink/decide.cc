#include "shoal/shrink/decide.h"

#include <algorithm>
#include <string>

#include "shoal/compress/importance.h"
#include "shoal/shrink/worth.h"

namespace shoal::shrink {

// Gradients come from batches as large as training's, costs are those of one example: a target may
// be a number of multiply-accumulates. Both graphs have the same units.
Result<Decision> decide(Device& device, const NetworkForBatch& network, const Dataset& examples,
                        const ShrinkOptions& options) {
  SHOAL_ASSIGN(const LoadedGraph batch, network(static_cast<int64_t>(options.recipe.batch)));
  SHOAL_ASSIGN(const compress::Groups of_batch, compress::find_groups(batch.graph));
  SHOAL_ASSIGN(const LoadedGraph one, network(1));
  Decision decision;
  SHOAL_ASSIGN(decision.groups, compress::find_groups(one.graph));
  const compress::Groups& groups = decision.groups;
  if (groups.units.empty()) {
    const std::string reason = groups.refused.empty() ? "" : ": " + groups.refused[0].reason;
    return Status(Code::kUnsupported, "there is no unit that could be removed" + reason);
  }
  if (groups.units.size() != of_batch.units.size()) {
    return Status(Code::kUnsupported, "the units of the network depend on the batch");
  }
  SHOAL_ASSIGN(std::vector<double> worth, worth_of(device, batch.graph, of_batch,
                                                   options.importance, examples, options.recipe));
  // Only a change of the loss can be set against costs. Magnitudes are relative to their group: a
  // stream through many layers, which costs most, would go first (ResNet-20: 10 % before it
  // learns).
  if (options.importance == Importance::kTaylor) {
    SHOAL_ASSIGN(worth, compress::per_saving(one.graph, groups, worth, options.target));
  }
  SHOAL_ASSIGN(decision.units, compress::choose(one.graph, groups, worth, options.target));
  return decision;
}

std::vector<GroupLeft> removed_by(const Graph& graph, const Decision& decision) {
  std::vector<GroupLeft> all;
  for (const compress::Group& group : decision.groups.groups) {
    const auto lost = static_cast<size_t>(std::ranges::count_if(
        decision.units, [&](size_t unit) { return unit >= group.begin && unit < group.end; }));
    if (lost == 0) continue;
    GroupLeft left{.before = group.size(), .left = group.size() - lost};
    const auto& cells = decision.groups.units[group.begin].cells;
    const auto weights = std::ranges::find_if(
        cells, [&](const compress::Cell& cell) { return graph[cell.value].constant.has_value(); });
    if (weights != cells.end()) {
      left.weights = graph[weights->value].name;
      left.axis = weights->axis;
    }
    all.push_back(std::move(left));
  }
  return all;
}

std::vector<RefusedAxis> refused_by(const Graph& graph, const Decision& decision) {
  std::vector<RefusedAxis> all;
  for (const compress::Refusal& refusal : decision.groups.refused) {
    all.push_back({graph[refusal.weights].name, refusal.axis, refusal.indices, refusal.reason});
  }
  return all;
}

}  // namespace shoal::shrink
