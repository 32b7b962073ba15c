// What simulated coordinators do with plans that their policy no longer wants.
#pragma once

#include <cstdint>
#include <functional>
#include <set>

#include "shoal/cluster/coordinator/policy/failover_policy.h"
#include "shoal/cluster/coordinator/policy/requests.h"

namespace shoal::chaos {

// Plans that were offered, and are to be withdrawn when no request uses them.
using RetiredPlans = std::set<uint64_t>;

// As FailoverDeployment: the policy's plans are offered, the others join `retired`, and those of
// them that no request uses are withdrawn.
void retire_plans(uint64_t service, const cluster::Workers& present,
                  cluster::FailoverPolicy& policy, cluster::Requests& requests,
                  RetiredPlans& retired, const std::function<void(uint64_t plan)>& withdraw);

}  // namespace shoal::chaos
