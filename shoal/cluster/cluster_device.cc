#include "shoal/cluster/cluster_device.h"

namespace shoal::cluster {
namespace {

class ClusterExecutable : public Executable {
 public:
  ClusterExecutable(Graph graph, std::chrono::milliseconds patience)
      : graph_(std::move(graph)), patience_(patience) {}

  Status deploy(Coordinator& coordinator, const plan::Plan& plan) {
    for (const plan::Segment& segment : plan.segments) {
      kernels_.resize(segment.nodes.end, KernelInfo{segment.split});
    }
    SHOAL_ASSIGN(remote_, coordinator.deploy(graph_, plan));
    return {};
  }

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs, Trace*) override {
    return remote_->run(inputs, outputs, patience_);
  }
  const Graph& graph() const override { return graph_; }
  MemoryUse memory() const override { return {}; }  // it is the workers'
  const KernelInfo& kernel_of(size_t node) const override { return kernels_[node]; }

 private:
  const Graph graph_;
  const std::chrono::milliseconds patience_;
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
    SHOAL_ASSIGN(const std::vector<plan::Prediction> plans,
                 plan::make_plans(graph, options_.profile, options_.plan));
    if (options_.planned) options_.planned(graph, plans);
    auto executable = std::make_unique<ClusterExecutable>(plans.front().graph, options_.patience);
    SHOAL_TRY(executable->deploy(coordinator_, plans.front().plan));
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
