#include "shoal/shrink/shrink_options.h"

#include <algorithm>
#include <array>
#include <utility>

namespace shoal::shrink {
namespace {

constexpr std::array kImportances = {std::pair{Importance::kMagnitude, "magnitude"},
                                     std::pair{Importance::kTaylor, "taylor"},
                                     std::pair{Importance::kRandom, "random"}};
constexpr std::array kTeachers = {std::pair{Teacher::kNone, "none"},
                                  std::pair{Teacher::kDense, "dense"},
                                  std::pair{Teacher::kControl, "control"}};

template <class Names, class Kind>
std::string_view name_in(const Names& names, Kind kind) {
  return std::ranges::find(names, kind, [](const auto& entry) { return entry.first; })->second;
}

template <class Kind, class Names>
std::optional<Kind> kind_in(const Names& names, std::string_view name) {
  const auto found = std::ranges::find(
      names, name, [](const auto& entry) { return std::string_view(entry.second); });
  return found == names.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace

std::string_view name_of(Importance importance) { return name_in(kImportances, importance); }
std::optional<Importance> find_importance(std::string_view name) {
  return kind_in<Importance>(kImportances, name);
}

std::string_view name_of(Teacher teacher) { return name_in(kTeachers, teacher); }
std::optional<Teacher> find_teacher(std::string_view name) {
  return kind_in<Teacher>(kTeachers, name);
}

fit::TrainingOptions usual_recipe() {
  fit::TrainingOptions recipe{.epochs = 10, .warm_up = 0.5};
  recipe.loss.distill = 0.5F;
  return recipe;
}

Status check(const ShrinkOptions& options) {
  SHOAL_TRY(compress::check(options.target));
  if (!(options.measure_seconds >= 0)) return invalid("measure_seconds is out of range");
  if ((options.teacher == Teacher::kNone) != (options.recipe.loss.distill == 0)) {
    return invalid("a teacher and its share of the loss must be given together");
  }
  if (options.int8_epochs < 0) return invalid("int8_epochs is out of range");
  if (options.int8_epochs > 0 && !options.int8) return invalid("int8_epochs are for int8");
  if (options.resume && options.steps.empty()) return invalid("there is no run to resume");
  // Networks are made here; the recipe only says how they learn.
  const fit::TrainingOptions& recipe = options.recipe;
  if (recipe.retarget > 0 || recipe.from_scratch || recipe.patience > 0) {
    return invalid("a recipe for shrinking neither replaces layers nor begins or ends elsewhere");
  }
  fit::TrainingOptions plain = recipe;
  plain.teacher.clear();
  plain.loss.distill = 0;
  return fit::check(plain);
}

}  // namespace shoal::shrink
