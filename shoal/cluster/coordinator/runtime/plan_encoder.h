// PlanEncoder: encodes each worker's tasks in a plan as a message.
#pragma once

#include <map>
#include <set>

#include "shoal/cluster/messages/greeting.h"
#include "shoal/cluster/messages/wire.h"
#include "shoal/plan/plan.h"

namespace shoal::cluster {

namespace message {
class Assignment;
class Task;
}  // namespace message

// Not thread-safe.
class PlanEncoder {
 public:
  explicit PlanEncoder(plan::ScheduledPlan scheduled) : scheduled_(std::move(scheduled)) {}

  Status encode_for(int worker, const std::vector<WorkerInfo>& infos,
                    message::Assignment& assignment);

  // The weights of all workers that were encoded so far.
  const std::map<Hash, Tensor>& weights() const { return weights_; }

 private:
  Status encode_task(size_t segment, size_t task, message::Task& to, std::set<int>& peers);
  Hash name_of(const Tensor& weight);

  const plan::ScheduledPlan scheduled_;
  std::map<Hash, Tensor> weights_;
  // By address: workers share most of their weights, and hashing takes longer than everything else.
  // The tensors are kept, so that their addresses are not reused.
  std::map<std::pair<const std::byte*, size_t>, std::pair<Tensor, Hash>> named_;
};

}  // namespace shoal::cluster
