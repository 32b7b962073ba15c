// PlanEncoder: what each worker does of a plan, in the words of the wire.
#pragma once

#include <map>
#include <set>

#include "shoal/cluster/coordinator.h"

namespace shoal::cluster {

namespace message {
class Assignment;
class Task;
}  // namespace message

class PlanEncoder {
 public:
  // All outlive it.
  PlanEncoder(const Graph& graph, const plan::Plan& plan, const plan::Schedule& schedule)
      : graph_(graph), plan_(plan), schedule_(schedule) {}

  Status encode_for(int worker, const std::vector<WorkerInfo>& infos,
                    message::Assignment& assignment);

  // Of the workers so far.
  const std::map<Hash, Tensor>& weights() const { return weights_; }

 private:
  Status encode_task(size_t segment, size_t task, message::Task& to, std::set<int>& peers);
  Hash name_of(const Tensor& weight);

  const Graph& graph_;
  const plan::Plan& plan_;
  const plan::Schedule& schedule_;
  std::map<Hash, Tensor> weights_;
  // By where they lie: workers share most of their weights, and hashing takes longer than all else.
  // They are kept, so that nothing else comes to lie there.
  std::map<std::pair<const std::byte*, size_t>, std::pair<Tensor, Hash>> named_;
};

}  // namespace shoal::cluster
