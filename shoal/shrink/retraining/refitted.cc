#include "shoal/shrink/retraining/refitted.h"

#include <algorithm>
#include <utility>

#include "shoal/shrink/retraining/networks.h"

namespace shoal::shrink {
namespace {

// A share of the examples, so that choosing stays cheap beside learning, but neither so few that
// what is fitted is accident nor more than helps.
constexpr size_t kShareOfExamples = 16, kLeastExamples = 64, kMostExamples = 512;
// Of one value in all examples, which are in memory together.
constexpr size_t kMostBytes = size_t{128} << 20;

size_t examples_for(const Graph& network, const Dataset& examples) {
  size_t largest = 1;
  for (const Node& node : network.nodes()) {
    for (ValueId id : node.outputs) largest = std::max(largest, network[id].type.bytes());
  }
  const size_t share =
      std::clamp(examples.size() / kShareOfExamples, kLeastExamples, kMostExamples);
  return std::max<size_t>(std::min({share, examples.size(), kMostBytes / largest}), 1);
}

}  // namespace

Result<RefittedLearner> refitted(Device& device, const fit::Learner& whole,
                                 const std::vector<size_t>& units, const Dataset& examples,
                                 const fit::TrainingOptions& recipe,
                                 const compress::RefitOptions& how) {
  SHOAL_ASSIGN(const LoadedGraph one, whole.network(1));
  SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(one.graph));
  SHOAL_ASSIGN(compress::Refitted fit,
               compress::refit(one.graph, groups, units,
                               fit::spread_examples(one.graph, examples, recipe,
                                                    examples_for(one.graph, examples)),
                               device, how));
  RefittedLearner result{{with_weights(without(whole.network, units), std::move(fit.weights))},
                         std::move(fit.left)};
  if (!whole.has_new_norms) return result;
  SHOAL_ASSIGN(
      result.learner,
      fit::with_norms(device, fit::with_folded_norms(result.learner.network), examples, recipe));
  return result;
}

}  // namespace shoal::shrink
