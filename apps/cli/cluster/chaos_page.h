// The page about a run of chaos: figures, latencies and faults.
#pragma once

#include <string>

#include "shoal/cluster/chaos/processes/chaos_run.h"

namespace shoal::cli {

// The title is untrusted text.
std::string chaos_page(const std::string& title, const chaos::ChaosReport& report);

}  // namespace shoal::cli
