#include "shoal/cluster/chaos/simulated/retire_plans.h"

namespace shoal::chaos {

void retire_plans(uint64_t service, const cluster::Workers& present,
                  cluster::FailoverPolicy& policy, cluster::Requests& requests,
                  RetiredPlans& retired, const std::function<void(uint64_t plan)>& withdraw) {
  const auto whole = [&](uint64_t plan) { return requests.is_whole(plan); };
  for (uint64_t plan : policy.retire(present, whole)) retired.insert(plan);
  // An empty offer would end the service.
  if (!policy.order().empty()) requests.offer(service, policy.order(), true);
  std::erase_if(retired, [&](uint64_t plan) {
    // Requests that began by a retired plan end by it.
    if (requests.in_use(plan)) return false;
    withdraw(plan);
    return true;
  });
}

}  // namespace shoal::chaos
