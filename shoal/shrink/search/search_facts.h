// What a search found, for scripts as an object, and for people as a table and a line below it.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/shrink/search/search.h"

namespace shoal::search {

// REQUIRES, of all: a network was found.
Json to_json(const SearchResult& result);
std::vector<Facts> rows_of(const SearchResult& result);
std::vector<std::string> lines_of(const SearchResult& result);

}  // namespace shoal::search
