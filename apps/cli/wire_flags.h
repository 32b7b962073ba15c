// --wire and --error: what may travel between workers in fewer bytes.
#pragma once

#include <string>

#include "apps/flags/flags.h"
#include "shoal/base/status.h"
#include "shoal/plan/search/wire_format.h"

namespace shoal::cli {

struct WireFlags {
  std::string format = "f32";
  double error = 0;

  void add_to(const FlagGroup& group);
  // Without magnitudes, which depend on the graph.
  plan::WireOptions options() const;
};

// The largest magnitudes of what the nodes compute, seen on one random input by this device: enough
// to measure int8, not to trust it.
Result<std::map<std::string, float, std::less<>>> largest_values(const Graph& graph,
                                                                 const std::string& device);

}  // namespace shoal::cli
