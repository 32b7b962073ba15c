// Sparse learning: some epochs with a penalty on the norms of units, then units go by what the loss
// gains from them, which is next to nothing where the norm fell. With the norm n_u of all weights
// of unit u, s of them,
//
//   lasso   strength * sum over groups of sqrt(s) * sum(n_u)         (Yuan, Lin 2006)
//   hoyer   strength * sum over groups of sum(n_u)^2 / sum(n_u^2)    (Yang et al. 2020)
//
// added to the loss as gradients (train/step/optimizer/unit_penalty.h). The lasso pulls all units
// of a group down at the same rate, and the loss holds those it needs. Hoyer pulls down units below
// sum(n^2) / sum(n) and no others. Norms cannot be set against what units cost, and were the worse
// choice: LeNet with a 25th of its parameters had 58 % by norms, 79 % by the loss before it learned
// again.
#include "shoal/shrink/prune/decision/sparse_learning.h"

#include <algorithm>
#include <utility>

#include "shoal/shrink/prune/decision/decision_methods.h"
#include "shoal/shrink/retraining/retrain.h"
#include "shoal/train/step/graph/step_graph.h"

namespace shoal::shrink {
namespace {

using Penalty = train::Regularizer::Penalty;

// Reckoned, not tuned: at the usual rate and momentum they take a unit that the loss does not hold
// from usual weights to zero in some hundred steps.
constexpr double kLassoStrength = 1e-3, kHoyerStrength = 1e-2;

}  // namespace

train::UnitPenalty penalty_on(const Graph& graph, const compress::Groups& groups, Penalty penalty,
                              double strength) {
  const std::vector<ValueId> learned = train::learned_values(graph);
  train::UnitPenalty result{.penalty = penalty, .strength = strength};
  for (const compress::Group& group : groups.groups) {
    auto& units = result.groups.emplace_back(group.size());
    for (size_t u = 0; u < units.size(); ++u) {
      for (const compress::Cell& cell : groups.units[group.begin + u].cells) {
        if (std::ranges::find(learned, cell.value) == learned.end()) continue;
        units[u].push_back({graph[cell.value].name, cell.axis, cell.index});
      }
    }
  }
  return result;
}

Result<Decided> learn_sparsely(const Means& means) {
  const ShrinkOptions& options = means.options;
  SHOAL_ASSIGN(const LoadedGraph one, means.network(1));
  SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(one.graph));
  const bool is_lasso = options.importance == Importance::kLasso;
  const double usual = is_lasso ? kLassoStrength : kHoyerStrength;
  fit::TrainingOptions recipe = options.recipe;
  recipe.epochs = epochs_before(options);
  // The dense control has not learned yet.
  if (options.teacher == Teacher::kControl) recipe.loss.distill = 0;
  SHOAL_ASSIGN(Trained trained,
               retrain(means.device, means.network, means.network, means.data, std::move(recipe),
                       means.callbacks,
                       penalty_on(one.graph, groups, is_lasso ? Penalty::kLasso : Penalty::kHoyer,
                                  options.strength > 0 ? options.strength : usual)));
  Decided decided{.decision = {}, .weights = std::move(trained.weights)};
  SHOAL_ASSIGN(decided.decision,
               decide(means.device, trained.network, *means.data.held_out, options, means.table));
  return decided;
}

}  // namespace shoal::shrink
