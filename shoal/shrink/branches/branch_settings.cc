// Bounds are for --help; check() has the last word.
#include "shoal/shrink/branches/branch_settings.h"

#include <utility>

namespace shoal::branch {

SettingList settings_of(BranchSettings& s) {
  return {
      {"branches", s.branches,
       "How many; auto: as few as fit the memory of a worker, powers of two"},
      Setting("widths", s.widths,
              "In place of --branches: their widths in relation to each other, 1,2,4; auto: one "
              "for each worker, so that all end together")
          .not_with("branches"),
      {"fatten", s.fatten,
       "Widen branches by so many percent; auto: in steps of 10 until --max-drop is met"},
      Setting("max-drop", s.max_drop,
              "Points that --fatten auto may lose against the dense control, on held-out images")
          .not_negative(),
      Setting("merge", s.merge,
              "How branches are joined: sum, concat, or auto: sum after a stack of fully connected "
              "layers")
          .one_of({"auto", "sum", "concat"}),
      Setting("branch-dropout", s.options.dropout,
              "Probability to learn without a branch, so that it may be lost")
          .in(0, 0.9),
      Setting("distill", s.distill, "Share of the loss that is about the dense control").in(0, 1),
      Setting("temperature", s.temperature, "At which answers are compared").positive()};
}

Result<LearnOptions> resolve(const BranchSettings& settings, fit::TrainingOptions recipe) {
  LearnOptions all = settings.options;
  if (!recipe.data.empty() && recipe.format.empty()) return invalid("data needs format");
  all.out = recipe.out;
  all.recipe = std::move(recipe);
  all.recipe.checkpoint.clear();
  all.recipe.loss.distill = settings.distill;
  all.recipe.loss.temperature = settings.temperature;
  all.branches.merge = settings.merge == "sum"      ? Merge::kSum
                       : settings.merge == "concat" ? Merge::kConcat
                                                    : Merge::kAuto;
  SHOAL_TRY(set_fatten(settings.fatten, settings.max_drop, all));
  return all;
}

}  // namespace shoal::branch
