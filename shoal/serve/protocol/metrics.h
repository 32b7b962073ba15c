// Metrics in Prometheus's text format.
#pragma once

#include <string>
#include <vector>

#include "shoal/serve/protocol/documents.h"

namespace shoal::serve {

// Names are Shoal's, in base units. Triton's names stand beside them where they have the same
// meaning and `promtool check metrics` has nothing against them; it takes them as untyped. With
// `triton`, those are there, too, that it objects to: times in microseconds.
std::string print_metrics(const std::vector<NamedStatistics>& models, bool triton = false);

// Whether this server is the one of several that answers.
std::string print_leader_metric(bool leads);

}  // namespace shoal::serve
