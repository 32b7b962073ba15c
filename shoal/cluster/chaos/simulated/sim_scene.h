// Scene: a small model in two versions, workers, and plans for every set of them. Made once, for
// any number of histories.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "shoal/cluster/coordinator/policy/failover_policy.h"
#include "shoal/cluster/coordinator/policy/requests.h"
#include "shoal/cluster/tasks/deployment.h"

namespace shoal::chaos {

class Scene {
 public:
  static constexpr size_t kInputs = 4, kVersions = 2;

  // Makes one of 18 scenes: the number decides the workers, the losses to survive and the kind of
  // split.
  static Result<std::unique_ptr<Scene>> make(size_t number);

  int workers() const { return workers_; }
  const Tensor& input(size_t i) const { return inputs_[i]; }
  // The version whose answer this is, as a whole; nothing if it is none.
  std::optional<size_t> version_of(size_t input, std::span<const Tensor> outputs) const;

  Result<cluster::DeployedPlan> deployed(size_t version, const cluster::Workers& set, uint64_t id);
  // The tasks of one worker.
  Result<std::unique_ptr<cluster::Deployment>> deployment(size_t version,
                                                          const cluster::Workers& set, int worker);

 private:
  struct Made {
    plan::ScheduledPlan scheduled;
    // By segment and task.
    std::vector<std::vector<std::shared_ptr<Executable>>> executables;
  };

  Scene() = default;
  Result<const Made*> made(size_t version, const cluster::Workers& set);
  Result<Made> make_plan(size_t version, const cluster::Workers& set) const;

  int workers_ = 0, survive_ = 0;
  bool by_channels_ = false;
  std::vector<Graph> graphs_;  // by version
  std::vector<Tensor> inputs_;
  std::vector<std::vector<std::vector<Tensor>>> answers_;  // by version and input
  std::map<std::pair<size_t, cluster::Workers>, Made> made_;
};

}  // namespace shoal::chaos
