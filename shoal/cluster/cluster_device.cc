#include "shoal/cluster/cluster_device.h"

#include <algorithm>

#include "shoal/cluster/failover_deployment.h"

namespace shoal::cluster {
namespace {

class ClusterExecutable : public Executable {
 public:
  // All but the graph outlive it.
  ClusterExecutable(Coordinator& coordinator, const ClusterOptions& options, Graph graph)
      : coordinator_(coordinator), options_(options), asked_(std::move(graph)) {}

  Status start() {
    SHOAL_ASSIGN(profile_, options_.profile(asked_));
    SHOAL_ASSIGN(failover_,
                 FailoverDeployment::start(
                     coordinator_, {.plan = [this](const Workers& set) { return plan(set); },
                                    .standby = options_.standby,
                                    .retry_interval = options_.retry_interval}));
    for (const plan::Segment& segment : failover_->first().plan.segments) {
      kernels_.resize(segment.nodes.end, KernelInfo{segment.split});
    }
    return {};
  }

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs, Trace*) override {
    return failover_->run(inputs, outputs, options_.timeout);
  }
  const Graph& graph() const override { return failover_->first().graph; }
  MemoryUse memory() const override { return {}; }  // it is the workers'
  const KernelInfo& kernel_of(size_t node) const override { return kernels_[node]; }

 private:
  Result<plan::Prediction> plan(const Workers& set) const {
    plan::PlanOptions options = options_.plan;
    for (int w = 0; w < std::ssize(profile_.workers); ++w) {
      if (!set.contains(w)) options.excluded.push_back(w);
    }
    // Those who are left survive what they can.
    options.survive = std::min(options.survive, static_cast<int>(set.size()) - 1);
    SHOAL_ASSIGN(std::vector<plan::Prediction> plans,
                 options_.make_plans(asked_, profile_, options));
    if (options_.planned) options_.planned(asked_, plans);
    return std::move(plans.front());
  }

  Coordinator& coordinator_;
  const ClusterOptions& options_;
  const Graph asked_;
  plan::ClusterProfile profile_;
  std::vector<KernelInfo> kernels_;               // how each node is split
  std::unique_ptr<FailoverDeployment> failover_;  // first to go: it uses the rest
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
    SHOAL_TRY(executable->start());
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
