#include "shoal/shrink/in_eight_bits.h"

#include <utility>

#include "shoal/compress/quantize.h"
#include "shoal/fit/derived_options.h"
#include "shoal/shrink/norms.h"
#include "shoal/shrink/retrain.h"
#include "shoal/train/straight_through.h"

namespace shoal::shrink {
namespace {

constexpr float kRate = 0.1F, kDistill = 0.5F;

}  // namespace

Result<compress::Int8Choice> int8_for(Device& device, const NetworkForBatch& network,
                                      const Dataset& examples, const fit::TrainingOptions& recipe) {
  SHOAL_ASSIGN(const LoadedGraph one, network(1));
  return compress::choose_int8(one.graph, {device, spread_examples(one.graph, examples, recipe)});
}

NetworkForBatch in_eight_bits(NetworkForBatch network, compress::Int8Choice choice) {
  return [network = std::move(network),
          choice = std::move(choice)](int64_t batch) -> Result<LoadedGraph> {
    SHOAL_ASSIGN(LoadedGraph loaded, network(batch));
    SHOAL_ASSIGN(loaded.graph, compress::quantized(loaded.graph, choice));
    return loaded;
  };
}

Result<NetworkForBatch> used_to_rounding(Device& device, const NetworkForBatch& network,
                                         const compress::Int8Choice& choice,
                                         const fit::TrainingData& data,
                                         const fit::TrainingOptions& recipe, int64_t epochs,
                                         const fit::TrainingCallbacks& callbacks) {
  fit::TrainingOptions gentle = recipe;
  gentle.epochs = epochs;
  gentle.warm_up = 0;
  gentle.optimizer.rate = kRate * fit::trainer_options(recipe).optimizer.rate;
  gentle.loss.distill = kDistill;
  gentle.checkpoint.clear();  // a run that is resumed does this again, with the same result
  gentle.resume = false;
  const NetworkForBatch rounded = [network, choice](int64_t batch) -> Result<LoadedGraph> {
    SHOAL_ASSIGN(LoadedGraph loaded, network(batch));
    SHOAL_ASSIGN(loaded.graph, compress::rounding(loaded.graph, choice));
    SHOAL_ASSIGN(loaded.graph, train::straight_through(loaded.graph));
    return loaded;
  };
  SHOAL_ASSIGN(Trained trained, retrain(device, rounded, network, data, gentle, callbacks));
  const NetworkForBatch folded = [network](int64_t batch) -> Result<LoadedGraph> {
    SHOAL_ASSIGN(LoadedGraph loaded, network(batch));
    SHOAL_ASSIGN(loaded.graph, compress::prepare(loaded.graph));
    return loaded;
  };
  return with_weights(folded, std::move(trained.weights));
}

}  // namespace shoal::shrink
