#include "apps/commands/training/fit_cluster.h"

#include <utility>

#include "shoal/report/pages/search_page.h"

namespace shoal::fit_cluster {
namespace {

Facts facts_of(const Attempt& attempt) {
  return {{"name", attempt.name, "attempt"},
          {"ms", attempt.ms, "ms", 2},
          sized("bytes", attempt.bytes, "bytes"),
          {"macs", attempt.macs, "MACs", report::macs_of(attempt)},
          {"top1", attempt.top1, "top-1", report::top1_of(attempt)},
          {"top1_dense_control", attempt.top1_control, "control", report::control_of(attempt)},
          {"fast_enough", attempt.fast_enough},
          {"accurate_enough", attempt.accurate_enough},
          {"note", attempt.note},
          shown("verdict", report::verdict_of(attempt))};
}

}  // namespace

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

std::vector<Facts> rows_of(const FitResult& result) {
  std::vector<Facts> rows;
  for (const Attempt& attempt : result.attempts) rows.push_back(facts_of(attempt));
  return rows;
}

std::vector<std::string> lines_of(const FitResult& result) {
  return {"wanted: " + fixed(result.target_ms, 2) +
          " ms; top-1 of the model as given: " + fixed(result.top1_before, 2) + " %"};
}

Json to_json(const FitResult& result) {
  return {{"met", result.met()},
          {"ms_target", result.target_ms},
          {"top1_before", result.top1_before},
          {"attempts", list_of(rows_of(result))}};
}

}  // namespace shoal::fit_cluster
