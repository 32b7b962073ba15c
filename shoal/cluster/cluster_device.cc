#include "shoal/cluster/cluster_device.h"

#include <algorithm>

namespace shoal::cluster {
namespace {

class ClusterExecutable : public Executable {
 public:
  // All but the graph outlive it.
  ClusterExecutable(Coordinator& coordinator, const ClusterOptions& options, Graph graph)
      : coordinator_(coordinator), options_(options), asked_(std::move(graph)) {}

  // With the workers that are there.
  Status plan() {
    plan::PlanOptions options = options_.plan;
    const std::vector<int> lost = coordinator_.lost();
    options.excluded.insert(options.excluded.end(), lost.begin(), lost.end());
    if (profile_.workers.empty()) {
      SHOAL_ASSIGN(profile_, options_.profile(asked_));
    }
    SHOAL_ASSIGN(std::vector<plan::Prediction> plans, plan::make_plans(asked_, profile_, options));
    if (options_.planned) options_.planned(asked_, plans);
    remote_.reset();  // it views the graph
    best_ = std::make_unique<plan::Prediction>(std::move(plans.front()));
    kernels_.clear();
    for (const plan::Segment& segment : best_->plan.segments) {
      kernels_.resize(segment.nodes.end, KernelInfo{segment.split});
    }
    SHOAL_ASSIGN(remote_, coordinator_.deploy(best_->graph, best_->plan));
    return {};
  }

  // A request that loses a worker fails; the next one is planned without it.
  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs, Trace*) override {
    if (remote_ == nullptr || has_lost_a_worker()) SHOAL_TRY(plan());
    return remote_->run(inputs, outputs, options_.patience);
  }
  const Graph& graph() const override { return best_->graph; }
  MemoryUse memory() const override { return {}; }  // it is the workers'
  const KernelInfo& kernel_of(size_t node) const override { return kernels_[node]; }

 private:
  bool has_lost_a_worker() const {
    const std::vector<int> lost = coordinator_.lost();
    return std::ranges::any_of(
        lost, [&](int worker) { return std::ranges::binary_search(remote_->workers(), worker); });
  }

  Coordinator& coordinator_;
  const ClusterOptions& options_;
  const Graph asked_;
  plan::ClusterProfile profile_;
  std::unique_ptr<plan::Prediction> best_;
  std::vector<KernelInfo> kernels_;  // how each node is split
  std::unique_ptr<RemotePlan> remote_;
};

class ClusterDevice : public Device {
 public:
  ClusterDevice(Coordinator& coordinator, ClusterOptions options)
      : coordinator_(coordinator),
        options_(std::move(options)),
        info_{"cluster(" + std::to_string(coordinator.workers().size()) + ")", 1} {}

  const DeviceInfo& info() const override { return info_; }

  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    auto executable = std::make_unique<ClusterExecutable>(coordinator_, options_, graph);
    SHOAL_TRY(executable->plan());
    return std::unique_ptr<Executable>(std::move(executable));
  }

 private:
  Coordinator& coordinator_;
  const ClusterOptions options_;
  const DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Device> make_cluster_device(Coordinator& coordinator, ClusterOptions options) {
  return std::make_unique<ClusterDevice>(coordinator, std::move(options));
}

}  // namespace shoal::cluster
