#include "shoal/shrink/retraining/norms.h"

#include <algorithm>
#include <utility>

#include "shoal/model/passes/passes.h"
#include "shoal/shrink/compress/refit/restore_norms.h"

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
  return Learner{[network, moments = std::move(moments)](int64_t batch) -> Result<LoadedGraph> {
                   SHOAL_ASSIGN(LoadedGraph loaded, network(batch));
                   SHOAL_ASSIGN(loaded.graph, compress::with_norms(loaded.graph, moments));
                   return loaded;
                 },
                 true};
}

Result<Graph> with_folded_norms(const Graph& network) {
  SHOAL_ASSIGN(const Graph folded, passes::fold_batch_norm(network));
  return passes::remove_dead_code(folded);  // products as they were
}

NetworkForBatch with_folded_norms(NetworkForBatch network) {
  return [network = std::move(network)](int64_t batch) -> Result<LoadedGraph> {
    SHOAL_ASSIGN(LoadedGraph loaded, network(batch));
    SHOAL_ASSIGN(loaded.graph, with_folded_norms(loaded.graph));
    return loaded;
  };
}

}  // namespace shoal::fit
