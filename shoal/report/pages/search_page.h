// The page about a search: networks by time and accuracy.
#pragma once

#include <string>

#include "shoal/shrink/fit_cluster/fit_cluster.h"
#include "shoal/shrink/search/search.h"

namespace shoal::report {

// REQUIRES: networks were found.
std::string search_page(const search::SearchResult& result);

// An attempt in words, for the page and the table of the command. Empty if unknown.
std::string macs_of(const fit_cluster::Attempt& attempt);
std::string top1_of(const fit_cluster::Attempt& attempt);
std::string control_of(const fit_cluster::Attempt& attempt);
std::string verdict_of(const fit_cluster::Attempt& attempt);

// The title is untrusted text.
std::string fit_cluster_page(const std::string& title, const fit_cluster::FitResult& result);

}  // namespace shoal::report
