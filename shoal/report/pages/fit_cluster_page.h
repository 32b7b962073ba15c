// The page about a model that was to meet a time on several devices: what was tried.
#pragma once

#include <string>

#include "shoal/shrink/fit_cluster/fit_cluster.h"

namespace shoal::report {

// The title may be anybody's text.
std::string fit_cluster_page(const std::string& title, const fit_cluster::FitResult& result);

}  // namespace shoal::report
