#include "shoal/cluster/cluster_device.h"

#include <algorithm>

#include "shoal/cluster/failover_deployment.h"
#include "shoal/cluster/stream_deployment.h"
#include "shoal/devices/devices.h"
#include "shoal/plan/search/subset.h"

namespace shoal::cluster {
namespace {

using OptionsPtr = std::shared_ptr<const ClusterOptions>;

// Common base of the two kinds of executables.
class ClusterExecutable : public Executable {
 public:
  ClusterExecutable(OptionsPtr options, Graph graph)
      : options_(std::move(options)), asked_(std::move(graph)) {}

  virtual Status deploy(Coordinator& coordinator) = 0;

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) final {
    SHOAL_TRY(options.interrupted());
    return answer(inputs, outputs, timeout_of(options), options.cancel);
  }
  MemoryUse memory() const override { return {}; }  // it is the workers'
  const KernelInfo& kernel_of(size_t node) const override { return kernels_[node]; }

 protected:
  virtual Status answer(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                        std::chrono::milliseconds timeout, const std::stop_token& cancel) = 0;

  // Says of each node how it is split.
  void describe(const plan::Plan& plan) {
    for (const plan::Segment& segment : plan.segments) {
      // Segments have no gaps, so that resizing fills exactly the nodes of this one.
      kernels_.resize(segment.nodes.end, KernelInfo{segment.split});
    }
  }

  const OptionsPtr options_;
  const Graph asked_;
  plan::ClusterProfile profile_;

 private:
  std::chrono::milliseconds timeout_of(const RunOptions& options) const {
    if (options.deadline == kNoDeadline) return options_->timeout;
    const auto left = options.deadline - std::chrono::steady_clock::now();
    // Rounded up: a deadline half a millisecond away is not yet over.
    return std::min(options_->timeout, std::chrono::ceil<std::chrono::milliseconds>(left));
  }

  std::vector<KernelInfo> kernels_;
};

class LatencyExecutable final : public ClusterExecutable {
 public:
  using ClusterExecutable::ClusterExecutable;

  Status deploy(Coordinator& coordinator) override {
    SHOAL_ASSIGN(profile_, options_->profile(asked_));
    if (options_->verify > 0) {
      SHOAL_ASSIGN(judge_, make_device("cpu", {.cpu = {.threads = 1}}));
    }
    SHOAL_ASSIGN(deployment_,
                 FailoverDeployment::start(
                     coordinator, {.plan = [this](const Workers& set) { return plan(set); },
                                   .standby = options_->standby,
                                   .retry_interval = options_->retry_interval,
                                   .verify = options_->verify,
                                   .judge = judge_.get(),
                                   .left_out = options_->left_out}));
    describe(deployment_->first().plan());
    return {};
  }
  const Graph& graph() const override { return deployment_->first().graph(); }

 private:
  Status answer(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                std::chrono::milliseconds timeout, const std::stop_token& cancel) override {
    return deployment_->run(inputs, outputs, timeout, cancel);
  }

  Result<plan::Prediction> plan(const Workers& set) const {
    SHOAL_ASSIGN(
        std::vector<plan::Prediction> plans,
        options_->make_plans(asked_, profile_, plan::for_workers(options_->plan, set, profile_)));
    // One call at a time: the deployment plans on one thread.
    if (options_->planned) options_->planned(asked_, plans);
    return std::move(plans.front());
  }

  std::unique_ptr<Device> judge_;  // of disputes
  std::unique_ptr<FailoverDeployment> deployment_;
};

class ThroughputExecutable final : public ClusterExecutable {
 public:
  using ClusterExecutable::ClusterExecutable;

  Status deploy(Coordinator& coordinator) override {
    SHOAL_ASSIGN(profile_, options_->profile(asked_));
    SHOAL_ASSIGN(deployment_, StreamDeployment::start(
                                  coordinator, [this](const Workers& set) { return plan(set); }));
    describe(deployment_->prediction().turns.front().plan());
    return {};
  }
  const Graph& graph() const override { return deployment_->prediction().graph(); }

 private:
  Status answer(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                std::chrono::milliseconds timeout, const std::stop_token& cancel) override {
    return deployment_->run(inputs, outputs, timeout, cancel);
  }

  Result<plan::StreamPrediction> plan(const Workers& set) const {
    const plan::PlanOptions options = plan::for_workers(options_->plan, set, profile_);
    SHOAL_ASSIGN(auto plans, plan::make_stream_plans(asked_, profile_,
                                                     {.excluded = options.excluded,
                                                      .survive = options.survive,
                                                      .wait_seconds = options.wait_seconds}));
    return std::move(plans.front());
  }

  std::unique_ptr<StreamDeployment> deployment_;
};

// Reports the beginning and the end of compiling, also if it fails.
class Compiling {
 public:
  explicit Compiling(const ClusterOptions& options) : options_(options) { tell(true); }
  ~Compiling() { tell(false); }
  Compiling(const Compiling&) = delete;
  Compiling& operator=(const Compiling&) = delete;

 private:
  void tell(bool begins) const {
    if (options_.compiling) options_.compiling(begins);
  }
  const ClusterOptions& options_;
};

class ClusterDevice : public Device {
 public:
  ClusterDevice(Coordinator& coordinator, ClusterOptions options)
      : coordinator_(coordinator),
        options_(std::make_shared<const ClusterOptions>(std::move(options))),
        info_{.name = "cluster(" + std::to_string(coordinator.worker_count()) + ")",
              .traces = false} {}

  const DeviceInfo& info() const override { return info_; }

  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    if (options_->verify > 0 &&
        (options_->plan.survive == 0 || options_->objective != Objective::kLatency)) {
      return invalid("only plans for one answer that survive losses can be verified");
    }
    const Compiling compiling(*options_);
    return options_->objective == Objective::kLatency ? start<LatencyExecutable>(graph)
                                                      : start<ThroughputExecutable>(graph);
  }

  // Not by compiling, which would deploy the model.
  Result<MemoryUse> memory_of(const Graph&) override {
    return Status(Code::kUnsupported, "the memory of a cluster depends on the plan");
  }

 private:
  template <class Kind>
  Result<std::unique_ptr<Executable>> start(const Graph& graph) const {
    // The executable copies the graph: failover plans from it long after compile() has returned.
    auto executable = std::make_unique<Kind>(options_, graph);
    SHOAL_TRY(executable->deploy(coordinator_));
    return std::unique_ptr<Executable>(std::move(executable));
  }

  Coordinator& coordinator_;
  const OptionsPtr options_;
  const DeviceInfo info_;
};

}  // namespace

std::unique_ptr<Device> make_cluster_device(Coordinator& coordinator, ClusterOptions options) {
  return std::make_unique<ClusterDevice>(coordinator, std::move(options));
}

std::unique_ptr<Device> make_cluster_device(std::shared_ptr<ClusterConnection> connection,
                                            ClusterOptions options) {
  // The functions refer to the connection without owning it; `keep_alive` does, beside them.
  ClusterConnection& access = *connection;
  options.profile = [&access](const Graph& graph) { return access.profile(graph); };
  options.make_plans = [&access](const auto& graph, const auto& profile, const auto& plan) {
    return access.make_plans(graph, profile, plan);
  };
  options.keep_alive = std::move(connection);
  return make_cluster_device(access.coordinator(), std::move(options));
}

}  // namespace shoal::cluster
