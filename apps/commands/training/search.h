// shoal search: its settings, and the rows and JSON fields of its result.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
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

// REQUIRES, of all: a network was found.
Json to_json(const SearchResult& result);
std::vector<Facts> rows_of(const SearchResult& result);
std::vector<std::string> lines_of(const SearchResult& result);

}  // namespace shoal::search
