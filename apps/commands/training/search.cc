#include "apps/commands/training/search.h"

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

Json to_json(const SearchResult& result) {
  Json found = Json::array();
  for (const Found& one : result.found) {
    found.push_back({{"name", one.name},
                     {"ms", one.ms},
                     {"top1", one.top1},
                     {"macs", one.macs},
                     {"parameters", one.parameters},
                     {"front", one.on_front}});
  }
  return {{"best", result.found[0].name},  {"top1", result.test_top1},
          {"ms", result.found[0].ms},      {"ms_fastest", result.fastest_ms},
          {"ms_staged", result.staged_ms}, {"drawn", result.drawn},
          {"simulated", result.simulated}, {"found", std::move(found)},
          {"seconds", result.seconds}};
}

std::vector<Facts> rows_of(const SearchResult& result) {
  std::vector<Facts> rows;
  for (const Found& one : result.found) {
    rows.push_back({shown("network", one.name),
                    shown("top-1 (held out)", fixed(one.top1, 2) + " %"),
                    shown("ms", fixed(one.ms, 3)),
                    shown("MACs", fixed(static_cast<double>(one.macs) / 1e6, 2) + " M"),
                    shown("parameters", std::to_string(one.parameters)),
                    shown("front", one.on_front ? "*" : "")});
  }
  return rows;
}

std::vector<std::string> lines_of(const SearchResult& result) {
  return {result.found[0].name + ": " + fixed(result.test_top1, 2) +
          " % on test images; the fastest network takes " + fixed(result.fastest_ms, 3) +
          " ms, with stages " + fixed(result.staged_ms, 3)};
}

}  // namespace shoal::search
