// The page about a search: networks by time and accuracy.
#pragma once

#include <string>

#include "shoal/shrink/fit_cluster/fit_cluster.h"
#include "shoal/shrink/search/search.h"

namespace shoal::report {

// REQUIRES: networks were found.
std::string search_page(const search::SearchResult& result);

// The title may be anybody's text.
std::string fit_cluster_page(const std::string& title, const fit_cluster::FitResult& result);

}  // namespace shoal::report
