#include "shoal/shrink/decide.h"

#include <algorithm>
#include <string>

#include "shoal/compress/importance.h"
#include "shoal/compress/remove.h"
#include "shoal/shrink/worth.h"

namespace shoal::shrink {
namespace {

// The first order says what one unit is worth while the others are there, so few go at a time. At
// once, 15 times fewer multiply-accumulates left one of 50 filters to LeNet's second layer.
constexpr size_t kRounds = 8;

}  // namespace

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
  // Only a change of the loss can be set against costs. Magnitudes are relative to their group: a
  // stream through many layers, which costs most, would go first (ResNet-20: 10 % before it
  // learns).
  if (options.importance != Importance::kTaylor) {
    SHOAL_ASSIGN(
        const std::vector<double> worth,
        worth_of(device, batch.graph, of_batch, {}, options.importance, examples, options.recipe));
    SHOAL_ASSIGN(decision.units, compress::choose(one.graph, groups, worth, options.target));
    return decision;
  }
  SHOAL_ASSIGN(const compress::Size before, compress::size_without(one.graph, groups, {}));
  for (size_t round = 0; round < kRounds; ++round) {
    SHOAL_ASSIGN(const std::vector<double> worth,
                 worth_of(device, batch.graph, of_batch, decision.units, options.importance,
                          examples, options.recipe, {round, kRounds}));
    const double part = static_cast<double>(round + 1) / kRounds;
    const compress::Target target = compress::part_way(options.target, before, part);
    SHOAL_ASSIGN(const std::vector<double> for_cost,
                 compress::per_saving(one.graph, groups, worth, target, decision.units));
    SHOAL_ASSIGN(decision.units, compress::choose(one.graph, groups, for_cost, target));
  }
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
