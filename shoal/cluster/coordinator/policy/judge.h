// Finds out which worker is wrong about a disputed request. It recomputes the disputed values on
// this machine: two copies that differ do not say which of them is wrong.
#pragma once

#include <string>
#include <vector>

#include "shoal/cluster/coordinator/policy/checks.h"
#include "shoal/cluster/coordinator/policy/strikes.h"
#include "shoal/engine/device/device.h"

namespace shoal::cluster {

// The accusations that follow from the disputes; none if all claims are right, within rounding.
// `names` are those of the workers, by number. Takes about as long as the whole graph takes on
// `device`. Disputes come from workers: one that does not fit the plan is ignored.
Result<std::vector<Accusation>> judge(const DisputedRequest& request,
                                      const std::vector<std::string>& names, Device& device);

}  // namespace shoal::cluster
