#include "shoal/shrink/search/search_settings.h"

#include <utility>

namespace shoal::search {

SettingList settings_of(SearchSettings& s) {
  SearchOptions& o = s.options;
  return {
      Setting("units", o.units, "Devices that compute a network together")
          .in(1, 256)
          .also("workers"),
      Setting("on", o.device, "What they are: pi4, nexus5, ... (see 'shoal plan --help')")
          .also("worker"),
      {"link", o.link, "Their network: gigabit, wifi-94, ..."},
      Setting("macs", s.macs, "Multiply-accumulates of a network for one image").in(1e4, 1e12),
      Setting("vertices", o.vertices, "Layers of a network that are wired at random").in(24, 256),
      Setting("classes", o.classes, "Classes of the data").in(2, 1 << 20),
      Setting("drawn", o.drawn, "Networks that are estimated").in(1, 1 << 20),
      Setting("simulated", o.simulated, "Of them, networks that are simulated").in(1, 1 << 20),
      Setting("trained", o.trained, "Of them, networks that learn").in(1, 1 << 20),
      Setting("minutes", o.minutes, "No network begins to learn after so many; 0: no limit")
          .not_negative()};
}

Result<SearchOptions> resolve(const SearchSettings& settings, fit::TrainingOptions recipe) {
  SearchOptions all = settings.options;
  all.recipe = std::move(recipe);
  all.recipe.checkpoint.clear();
  all.macs = static_cast<int64_t>(settings.macs);
  SHOAL_TRY(check(all));
  return all;
}

}  // namespace shoal::search
