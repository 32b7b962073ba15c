// Runs under faults and overload, for scripts as an object, and for people as a table and lines
// below it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/cluster/chaos/processes/chaos_run.h"

namespace shoal::chaos {

// The page about a run of chaos: figures, latencies and faults.
// The title may be anybody's text.
std::string chaos_page(const std::string& title, const ChaosReport& report);

Json to_json(const ChaosReport& report);
std::vector<Facts> rows_of(const ChaosReport& report);
std::vector<std::string> lines_of(const ChaosReport& report);

// With the faults meanwhile, by kind, which overload_cluster() counts.
using FaultKinds = std::map<std::string, uint64_t>;
Json to_json(const OverloadReport& report, const FaultKinds& kinds);
std::vector<Facts> rows_of(const OverloadReport& report, const FaultKinds& kinds);
std::vector<std::string> lines_of(const OverloadReport& report, const FaultKinds& kinds);

// The state of a run: workers, requests and how long they take, a line each.
std::vector<std::string> lines_of(const ChaosProgress& progress);
// The same in one line, about the latest fault.
std::string line_of(const ChaosProgress& progress);

// Tells of each fault once. Not thread-safe.
class FaultLines {
 public:
  // line_of(progress), if a fault has begun since the last call; else empty.
  std::string next(const ChaosProgress& progress);

 private:
  uint64_t told_ = 0;  // faults
};

// That emulated devices are slower than they should be, because this machine has no time to be
// them; empty where they are not. `predicted_ms` is a request without faults.
std::string note_lateness(const ChaosReport& report, double predicted_ms);

}  // namespace shoal::chaos
