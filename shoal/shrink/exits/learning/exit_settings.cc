// Bounds are for --help; check() has the last word.
#include "shoal/shrink/exits/learning/exit_settings.h"

#include <utility>

#include "shoal/shrink/exits/learning/exit_words.h"

namespace shoal::exits {

SettingList exit_settings(ExitsSettings& s) {
  ExitsOptions& o = s.options;
  return {
      Setting("at", s.at, "Values to add exits at, or auto:2 for two at even shares of work")
          .separated_by_commas(),
      Setting("head", s.head,
              "What an exit has before its last layer: conv (strided convolutions) or pool")
          .one_of({"conv", "pool"}),
      {"aggregate", o.head.aggregate,
       "Exits read the features of the exit before them, too (default)"},
      Setting("joint", o.joint_epochs,
              "Epochs in which the whole network learns, after the exits have learned alone")
          .in(0, 1 << 20)
          .showing_default(),
      Setting("joint-rate", o.joint_rate, "Learning rate in these (default: --rate)").positive(),
      {"no-norms", s.no_norms,
       "In these, learn without batch norms behind convolutions that were given without"},
      {"weights", o.joint_weights,
       "How much each exit counts in these, the last classifier last (default: 1)"},
      Setting("self-distill", o.self_distill,
              "Share of an exit's loss in these that is about the last classifier's answers")
          .in(0, 1),
      Setting("distill", s.loss.distill,
              "Share of the loss that is about the answers of the model as it was given")
          .in(0, 1),
      Setting("temperature", s.loss.temperature, "At which answers are compared").positive(),
      Setting("focal", s.loss.focal, "Let what is known well count less: 2").not_negative(),
      Setting("feature-cache", s.feature_cache_mb,
              "MB for the features of images that are not augmented, computed once")
          .in(0, 1 << 20)};
}

SettingList calibration_settings(ExitsSettings& s) {
  WantedPrecision& wanted = s.options.wanted;
  return {
      Setting("precision", wanted.precision, "Share of right answers of an exit").in(0.01, 0.9999),
      Setting("risk", wanted.risk, "That it does not hold on other images").in(0.0001, 0.5),
      Setting("max-drop", s.max_drop,
              "Instead: lose at most so many points against the last classifier")
          .not_negative()
          .hiding_default()
          .not_with("precision")};
}

Result<ExitsOptions> resolve(const ExitsSettings& settings, fit::TrainingOptions recipe) {
  ExitsOptions all = settings.options;
  SHOAL_TRY(set_places(settings.at, all));
  all.recipe = std::move(recipe);
  all.recipe.checkpoint.clear();
  all.recipe.out = all.out;
  all.recipe.feature_cache_bytes = settings.feature_cache_mb * 1'000'000;
  all.recipe.loss = settings.loss;
  all.head.kind = settings.head == "pool" ? HeadOptions::Kind::kPool : HeadOptions::Kind::kConv;
  all.head.seed = all.recipe.seed;
  all.norms = !settings.no_norms;
  if (settings.max_drop >= 0) all.max_drop = settings.max_drop;
  return all;
}

}  // namespace shoal::exits
