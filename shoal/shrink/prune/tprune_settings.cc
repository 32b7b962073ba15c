#include "shoal/shrink/prune/tprune_settings.h"

#include <utility>

#include "shoal/engine/inputs/npy.h"

namespace shoal::shrink {

SettingList settings_of(TPruneSettings& s) {
  TPruneOptions& o = s.options;
  fit::TrainingOptions& recipe = o.recipe;
  const SettingList data = {
      {"inputs", s.inputs, "Examples along the first axis, .npy"},
      {"labels", s.labels, "Their labels, i64 .npy; none: the network's own answers"},
      {"test-inputs", s.test_inputs, "Examples that judge, .npy"},
      {"test-labels", s.test_labels, "Their labels, i64 .npy"}};
  const SettingList removal = {
      {"target", s.target, "How small: macs=0.5, parameters=0.3 or units=0.5"},
      Setting("penalty", s.penalty, "hoyer (structured Hoyer-square) or lasso")
          .one_of({"hoyer", "lasso"}),
      Setting("strength", o.sparse.strength, "Of the penalty; 0: none").not_negative(),
      Setting("sparse-epochs", o.sparse_epochs, "Epochs with the penalty").in(0, 1 << 20),
      {"control", o.control, "Let the dense network learn as long, too"}};
  const SettingList learning = {
      Setting("epochs", recipe.epochs, "Epochs after the removal").in(0, 1 << 20),
      Setting("batch", recipe.batch, "Examples a step").in(1, 1 << 20),
      Setting("optimizer", s.optimizer, "sgd, adam or adamw").one_of({"sgd", "adam", "adamw"}),
      Setting("rate", recipe.optimizer.rate, "Learning rate (default: 0.001)").positive(),
      Setting("clip", recipe.optimizer.max_norm, "Longest gradient").positive(),
      Setting("warm-up", recipe.warm_up, "Epochs in which the rate grows").not_negative(),
      {"freeze", recipe.freeze, "Leave weights as they are whose names match"},
      {"seed", recipe.seed, "Of the order of examples"}};
  const SettingList measuring = {
      Setting("measure", o.measure_seconds, "Seconds to measure each network; 0: none")
          .not_negative()};
  return joined({data, under("Removal", removal), under("Learning", learning), measuring});
}

Result<TPruneOptions> resolve(const TPruneSettings& settings) {
  TPruneOptions options = settings.options;
  SHOAL_ASSIGN(options.target, compress::parse_target(settings.target));
  options.sparse.penalty = settings.penalty == "lasso" ? train::Regularizer::Penalty::kLasso
                                                       : train::Regularizer::Penalty::kHoyer;
  options.recipe.optimizer.rule = *train::find_rule(settings.optimizer);
  return options;
}

Result<TPruneData> read_data(const TPruneSettings& settings) {
  TPruneData data;
  for (const auto& [path, tensor] :
       {std::pair{&settings.inputs, &data.inputs}, std::pair{&settings.labels, &data.labels},
        std::pair{&settings.test_inputs, &data.test_inputs},
        std::pair{&settings.test_labels, &data.test_labels}}) {
    if (path->empty()) continue;
    SHOAL_ASSIGN(*tensor, read_npy(*path));
  }
  return data;
}

}  // namespace shoal::shrink
