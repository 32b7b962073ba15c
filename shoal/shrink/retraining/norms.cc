#include "shoal/shrink/retraining/norms.h"

#include <algorithm>
#include <utility>

#include "shoal/model/passes/passes.h"
#include "shoal/shrink/retraining/networks.h"

namespace shoal::fit {

compress::CalibrationData spread_examples(const Graph& network, const Dataset& examples,
                                          const TrainingOptions& recipe, size_t most) {
  const size_t count = std::min(most, examples.size());
  return {count,
          [count, &examples, prepare = images_for(network, recipe.preprocess)](
              size_t index) -> Result<std::vector<Tensor>> {
            SHOAL_ASSIGN(const Example example, examples.at(index * examples.size() / count));
            SHOAL_ASSIGN(Tensor image, prepare(example.image));
            return std::vector<Tensor>{std::move(image)};
          }};
}

Result<Learner> with_norms(Device& device, const NetworkForBatch& network, const Dataset& examples,
                           const TrainingOptions& recipe) {
  SHOAL_ASSIGN(const LoadedGraph one, network(1));
  SHOAL_ASSIGN(
      compress::ConvMoments moments,
      compress::conv_moments(one.graph, spread_examples(one.graph, examples, recipe), device));
  if (moments.empty()) return Learner{network};
  const auto add_norms = [moments = std::move(moments)](const Graph& graph) {
    return compress::with_norms(graph, moments);
  };
  return Learner{changed(network, add_norms), true};
}

Result<Graph> with_folded_norms(const Graph& network) {
  SHOAL_ASSIGN(const Graph folded, passes::fold_batch_norm(network));
  return passes::remove_dead_code(folded);  // products as they were
}

NetworkForBatch with_folded_norms(NetworkForBatch network) {
  return changed(std::move(network), [](const Graph& graph) { return with_folded_norms(graph); });
}

}  // namespace shoal::fit

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
                                 const compress::RefitOptions& options) {
  SHOAL_ASSIGN(const LoadedGraph loaded, whole.network(1));
  SHOAL_ASSIGN(const compress::Groups groups, compress::find_groups(loaded.graph));
  SHOAL_ASSIGN(compress::Refitted fit,
               compress::refit(loaded.graph, groups, units,
                               fit::spread_examples(loaded.graph, examples, recipe,
                                                    examples_for(loaded.graph, examples)),
                               device, options));
  RefittedLearner result{{with_weights(without(whole.network, units), std::move(fit.weights))},
                         std::move(fit.left)};
  if (!whole.has_new_norms) return result;
  SHOAL_ASSIGN(
      result.learner,
      fit::with_norms(device, fit::with_folded_norms(result.learner.network), examples, recipe));
  return result;
}

}  // namespace shoal::shrink
