#include "shoal/shrink/fit_cluster/fit_cluster_settings.h"

#include <utility>

namespace shoal::fit_cluster {

SettingList settings_of(FitSettings& s) {
  return {
      Setting("workers", s.options.cluster, "The devices and their network").hiding_default(),
      {"target", s.target, "ms=40, or ms=0.5x for half of the best plan's time"},
      Setting("max-drop", s.options.max_drop, "Points of accuracy that it may cost").not_negative(),
      Setting("distill", s.distill, "Share of the loss that is about the teacher").in(0, 1),
      Setting("temperature", s.temperature, "At which answers are compared").positive(),
      {"keep-depth", s.options.keeps_depth,
       "Branches have all residual blocks, and are narrower for it"},
      Setting("try", s.ways,
              "After the plan, only these: messages, smaller, clusters, branches (default: all)")
          .separated_by_commas()
          .one_of({"messages", "smaller", "clusters", "branches"})};
}

Result<FitOptions> resolve(const FitSettings& settings, fit::TrainingOptions recipe) {
  FitOptions all = settings.options;
  all.recipe = std::move(recipe);
  all.recipe.checkpoint.clear();
  all.recipe.loss.distill = settings.distill;
  all.recipe.loss.temperature = settings.temperature;
  shrink::ShrinkOptions target;
  SHOAL_TRY(shrink::set_target(settings.target, target));
  if (!target.time) return invalid("target is a time: ms=40 or ms=0.5x");
  all.time = *target.time;
  if (!settings.ways.empty()) all.ways.clear();
  for (const std::string& way : settings.ways) all.ways.insert(*find_way(way));
  SHOAL_TRY(check(all));
  return all;
}

}  // namespace shoal::fit_cluster
