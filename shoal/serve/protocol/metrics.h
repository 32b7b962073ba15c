// Metrics in Prometheus's text format.
#pragma once

#include <string>
#include <vector>

#include "shoal/serve/protocol/documents.h"

namespace shoal::serve {

// Names are Shoal's, in base units. Triton's names are added if they mean the same and `promtool
// check metrics` accepts them, as untyped; with `triton`, also those it objects to: times in
// microseconds.
std::string print_metrics(const std::vector<NamedStatistics>& models, bool triton = false);

// Whether this server is the leader.
std::string print_leader_metric(bool leads);

}  // namespace shoal::serve
