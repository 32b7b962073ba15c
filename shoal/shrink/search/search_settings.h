// A search in words, as flags say it.
#pragma once

#include "shoal/base/text/setting.h"
#include "shoal/shrink/search/search.h"

namespace shoal::search {

struct SearchSettings {
  SearchOptions options;
  double macs = 20e6;  // people write 20e6
};

SettingList settings_of(SearchSettings& settings);

// All options, with networks that learn by `recipe`. Fails as check() does.
Result<SearchOptions> resolve(const SearchSettings& settings, fit::TrainingOptions recipe);

}  // namespace shoal::search
