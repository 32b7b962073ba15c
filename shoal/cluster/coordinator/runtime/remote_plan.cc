#include "shoal/cluster/coordinator/runtime/remote_plan.h"

#include "shoal/plan/cost/plan_stats.h"

namespace shoal::cluster {

RemotePlan::RemotePlan(PlanDeployer& deployer, RequestRunner& runner, DeployedPlanPtr deployed,
                       EncodedPlanPtr encoded, bool traced)
    : deployer_(deployer),
      runner_(runner),
      deployed_(std::move(deployed)),
      encoded_(std::move(encoded)),
      traced_(traced),
      workers_(plan::workers_of(deployed_->scheduled.plan())) {}

}  // namespace shoal::cluster
