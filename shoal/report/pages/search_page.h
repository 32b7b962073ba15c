// The page about a search: networks by time and accuracy.
#pragma once

#include <string>

#include "shoal/shrink/search/search.h"

namespace shoal::report {

// REQUIRES: networks were found.
std::string search_page(const search::SearchResult& result);

}  // namespace shoal::report
