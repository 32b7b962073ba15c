#include "shoal/shrink/prune/decision/worth.h"

#include <algorithm>
#include <map>
#include <string>

#include "shoal/shrink/compress/units/importance.h"
#include "shoal/shrink/compress/units/remove.h"
#include "shoal/train/data/prefetch.h"
#include "shoal/train/run/setup/derived_options.h"
#include "shoal/train/run/setup/training_network.h"
#include "shoal/train/step/trainer/trainer.h"

namespace shoal::shrink {
namespace {

constexpr int kLoaders = 1;
constexpr size_t kAhead = 2;

constexpr size_t kFewestBatches = 8;  // a round, if there are so many: fewer are noise

// The mean over batches of what the loss would change by. Labels alone judge: the answers of the
// dense network are its own, so that their loss has no slope there.
Result<std::vector<double>> taylor_worth(Device& device, const Graph& network,
                                         const compress::Groups& groups,
                                         std::span<const size_t> gone, const Dataset& examples,
                                         fit::TrainingOptions recipe, Round round) {
  if (examples.size() == 0) return invalid("no examples are held out that could choose");
  recipe.loss.distill = 0;
  SHOAL_ASSIGN(const Graph left, compress::masked(network, groups, gone));
  SHOAL_ASSIGN(train::Trainer trainer,
               train::Trainer::create(device, left, fit::trainer_options(recipe)));
  const Batches batches(examples, fit::images_for(network, recipe.preprocess),
                        fit::evaluation_batches(recipe, fit::classes_of(network)));
  const size_t all = batches.per_epoch();
  const size_t count = std::min(all, std::max(kFewestBatches, all / round.rounds));
  Prefetch prefetch(batches, 0, round.number * count % all, kLoaders, kAhead);
  std::vector<double> worth(groups.units.size());
  for (size_t i = 0; i < count; ++i) {
    SHOAL_ASSIGN(const Batch batch, prefetch.next());
    SHOAL_TRY(trainer.compute(batch.images, std::span(&batch.labels, 1)).status());
    std::map<std::string, Tensor> gradients;
    for (size_t p = 0; p < trainer.parameters().size(); ++p) {
      gradients.emplace(trainer.parameters()[p], trainer.gradients()[p]);
    }
    const std::vector<double> of_batch = compress::taylor(network, groups, gradients);
    for (size_t unit = 0; unit < worth.size(); ++unit) {
      worth[unit] += of_batch[unit] / static_cast<double>(count);
    }
  }
  return worth;
}

}  // namespace

Result<std::vector<double>> worth_of(Device& device, const Graph& network,
                                     const compress::Groups& groups, std::span<const size_t> gone,
                                     Importance importance, const Dataset& examples,
                                     const fit::TrainingOptions& recipe, Round round) {
  switch (importance) {
    case Importance::kMagnitude:
    // What it learned is not known here.
    case Importance::kDpruner:
    case Importance::kDepth:
    case Importance::kSvd:
    case Importance::kTucker:
      return compress::magnitudes(network, groups);
    case Importance::kRandom:
      return compress::random_worth(groups, recipe.seed);
    case Importance::kTaylor:
    case Importance::kLasso:
    case Importance::kHoyer:
      break;
  }
  return taylor_worth(device, network, groups, gone, examples, recipe, round);
}

}  // namespace shoal::shrink
