#include "shoal/variants/catalog/specialists/specialise_settings.h"

#include <filesystem>
#include <utility>

namespace shoal::catalog {

SettingList settings_of(SpecialiseSettings& s) {
  SpecialiseOptions& o = s.options;
  return {
      {"classes", o.classes, "The classes that are seen now: 0,3,5"},
      Setting("other", o.other, "Share of images of other classes").in(0, 0.9),
      Setting("per-class", o.per_class,
              "Images of each class that it learns from; 0: all that there are")
          .not_negative(),
      {"at", o.at,
       "The value whose features it reads; auto: after a third of the work; head: before the "
       "last layer"},
      {"general", s.general,
       "The model that answers where it is not sure (default: the model itself)"},
      Setting("max-drop", o.max_drop, "Points that the two together may lose, on held-out images")
          .not_negative(),
      {"controls", o.controls,
       "Compare with learning without a cache, and with learning of all layers"}};
}

SpecialiseOptions resolve(const SpecialiseSettings& settings, fit::TrainingOptions recipe) {
  SpecialiseOptions options = settings.options;
  options.out = recipe.out;
  options.recipe = std::move(recipe);
  if (options.cache.empty()) {
    options.cache = std::filesystem::path(options.out).replace_extension(".features");
  }
  return options;
}

}  // namespace shoal::catalog
