#include "shoal/cluster/device/cluster_device.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "shoal/cluster/coordinator/runtime/failover_deployment.h"
#include "shoal/engine/devices/devices.h"
#include "shoal/model/graph/text.h"
#include "shoal/plan/search/subset.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::cluster {
namespace {

using OptionsPtr = std::shared_ptr<const ClusterOptions>;
using ClusterPtr = std::shared_ptr<ProfiledCluster>;

// What is known of the workers' speed at one graph. Each is measured when plans first need it,
// which may be long after the others. Not thread-safe.
class KnownSpeeds {
 public:
  KnownSpeeds(ProfiledCluster& cluster, const ClusterOptions& options, const Graph& graph)
      : cluster_(cluster), options_(options), graph_(graph), load_(options.load) {}

  // The profile that plans for these workers are made from.
  Result<plan::ClusterProfile> of(const Workers& set) {
    Workers unknown;
    for (int worker : set) {
      if (asked_about_.insert(worker).second) unknown.insert(worker);
    }
    if (!unknown.empty()) {
      const auto more = cluster_.profile(graph_, unknown);
      // A worker that cannot be measured is left out; without any there is nothing to plan for.
      if (!more.ok() && profile_.workers.empty()) return more.status();
      if (more.ok()) add(*more, unknown);
    }
    plan::ClusterProfile now = profile_;
    for (size_t w = 0; w < now.workers.size(); ++w) {
      if (!now.workers[w].present) continue;
      scale(now.workers[w], load_.planned(static_cast<int>(w)) / now.workers[w].slowdown);
    }
    return now;
  }

  // Whether the load of machines has changed for so long that plans should be made again. Asks for
  // it now and then; the answers are looked at the next time.
  bool have_changed() {
    Coordinator& coordinator = cluster_.coordinator();
    const auto now = std::chrono::steady_clock::now();
    if (options_.load_interval.count() == 0 || now < next_) return false;
    next_ = now + options_.load_interval;
    const std::vector<WorkerInfo> infos = coordinator.workers();
    for (int worker : coordinator.lost()) load_.forget(worker);
    for (int worker : coordinator.present()) {
      const WorkerInfo& info = infos[static_cast<size_t>(worker)];
      if (info.slowdown) load_.see(worker, *info.slowdown, now);
    }
    coordinator.ask_for_load();
    return load_.follow(now);
  }

 private:
  void add(const plan::ClusterProfile& more, const Workers& which) {
    if (profile_.workers.empty()) profile_ = more;
    for (int worker : which) {
      const auto w = static_cast<size_t>(worker);
      profile_.workers[w] = more.workers[w];
      profile_.links[w] = more.links[w];
      if (more.workers[w].present) load_.plan_for(worker, more.workers[w].slowdown);
    }
    // The coordinator's own link is at least as fast as the fastest that was measured.
    if (more.coordinator.bytes_per_second > profile_.coordinator.bytes_per_second) {
      profile_.coordinator = more.coordinator;
    }
  }

  ProfiledCluster& cluster_;
  const ClusterOptions& options_;
  const Graph& graph_;
  plan::ClusterProfile profile_;  // as measured
  Workers asked_about_;
  LoadPolicy load_;
  std::chrono::steady_clock::time_point next_{};
};

class ClusterExecutable final : public Executable {
 public:
  ClusterExecutable(ClusterPtr cluster, OptionsPtr options, Graph graph)
      : cluster_(std::move(cluster)),
        options_(std::move(options)),
        asked_(std::move(graph)),
        speeds_(*cluster_, *options_, asked_) {}

  Status deploy() {
    Coordinator& coordinator = cluster_->coordinator();
    const bool is_stream = options_->objective == Objective::kThroughput;
    if (options_->verify > 0) {
      SHOAL_ASSIGN(judge_, make_device("cpu", {.cpu = {.threads = 1}}));
    }
    SHOAL_ASSIGN(deployment_,
                 FailoverDeployment::start(
                     coordinator, {.plan = [this](const Workers& set) { return plan(set); },
                                   .standby = options_->standby && !is_stream && !options_->place,
                                   .retry_interval = options_->retry_interval,
                                   .verify = options_->verify,
                                   .judge = judge_.get(),
                                   .left_out = options_->left_out,
                                   .grace = options_->grace,
                                   .is_outdated =
                                       [this, &coordinator] {
                                         place_again(coordinator.present());
                                         return speeds_.have_changed();
                                       }}));
    describe(deployment_->first().front().plan());
    return {};
  }
  const Graph& graph() const override { return deployment_->first().front().graph(); }

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    SHOAL_TRY(options.interrupted());
    return deployment_->run(inputs, outputs, timeout_of(options), options.cancel);
  }
  // By the worker that this client has.
  Status run_for(size_t client, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                 const RunOptions& options) {
    SHOAL_TRY(options.interrupted());
    return deployment_->run_on(
        worker_of(client), inputs, outputs,
        {.timeout = timeout_of(options), .client = client, .cancel = options.cancel});
  }
  MemoryUse memory() const override { return {}; }  // it is the workers'
  const KernelInfo& kernel_of(size_t node) const override { return kernels_[node]; }

 private:
  // Says of each node how it is split.
  void describe(const plan::Plan& plan) {
    for (const plan::Segment& segment : plan.segments) {
      // Segments have no gaps, so that resizing fills exactly the nodes of this one.
      kernels_.resize(segment.nodes.end, KernelInfo{segment.split});
    }
  }

  std::chrono::milliseconds timeout_of(const RunOptions& options) const {
    if (options.deadline == kNoDeadline) return options_->timeout;
    const auto left = options.deadline - std::chrono::steady_clock::now();
    // Rounded up: a deadline half a millisecond away is not yet over.
    return std::min(options_->timeout, std::chrono::ceil<std::chrono::milliseconds>(left));
  }

  // One call at a time: the deployment plans on one thread.
  Result<Turns> plan(const Workers& set) {
    SHOAL_ASSIGN(const plan::ClusterProfile profile, speeds_.of(set));
    const plan::PlanOptions options = plan::for_workers(options_->plan, set, profile);
    if (options_->place) return whole_on_each(set, profile, options.excluded);
    if (options_->objective == Objective::kThroughput) {
      SHOAL_ASSIGN(auto plans, plan::make_stream_plans(asked_, profile,
                                                       {.excluded = options.excluded,
                                                        .survive = options.survive,
                                                        .wait_seconds = options.wait_seconds}));
      return std::move(plans.front().turns);
    }
    SHOAL_ASSIGN(const std::vector<plan::Prediction> plans,
                 cluster_->make_plans(asked_, profile, options));
    if (options_->planned) options_->planned(asked_, plans);
    return Turns{plans.front().scheduled};
  }

  // A turn for each worker that has the memory.
  Result<Turns> whole_on_each(const Workers& set, const plan::ClusterProfile& profile,
                              const std::vector<int>& excluded) {
    Turns turns;
    have_it_.clear();
    for (int worker : set) {
      if (std::ranges::find(excluded, worker) != excluded.end()) continue;
      SHOAL_ASSIGN(const plan::Prediction made, plan::plan_for_one(asked_, profile, worker));
      if (!plan::fits(profile, made)) continue;
      turns.push_back(made.scheduled);
      have_it_.insert(worker);
    }
    if (turns.empty()) return Status(Code::kExhausted, "no worker has the memory for the network");
    place(profile, have_it_);
    return turns;
  }

  // Clients may be better off elsewhere than when plans were made.
  void place_again(const Workers& present) {
    if (!options_->place) return;
    Workers set;
    std::ranges::set_intersection(present, have_it_, std::inserter(set, set.end()));
    if (set.empty()) return;
    const auto profile = speeds_.of(set);
    if (profile.ok()) place(*profile, set);
  }

  void place(const plan::ClusterProfile& profile, const Workers& set) {
    std::vector<int> workers = options_->place(asked_, profile, set);
    const std::lock_guard lock(mutex_);
    placed_ = std::move(workers);
  }

  int worker_of(size_t client) const {
    const std::lock_guard lock(mutex_);
    return client < placed_.size() ? placed_[client] : kAnyWorker;
  }

  const ClusterPtr cluster_;
  const OptionsPtr options_;
  const Graph asked_;
  KnownSpeeds speeds_;  // used by the deployment's thread
  std::vector<KernelInfo> kernels_;
  Workers have_it_;  // whole; used by the deployment's thread
  mutable std::mutex mutex_;
  std::vector<int> placed_;                         // workers, by client
  std::unique_ptr<Device> judge_;                   // of disputes
  std::unique_ptr<FailoverDeployment> deployment_;  // first to go: it uses the rest
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
  ClusterDevice(ClusterPtr cluster, ClusterOptions options)
      : cluster_(std::move(cluster)),
        options_(std::make_shared<const ClusterOptions>(std::move(options))),
        info_{.name = "cluster(" + std::to_string(cluster_->coordinator().worker_count()) + ")",
              .traces = false} {}

  const DeviceInfo& info() const override { return info_; }

  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(auto executable, deploy(graph));
    return std::unique_ptr<Executable>(std::move(executable));
  }

  Result<std::unique_ptr<ClusterExecutable>> deploy(const Graph& graph) {
    if (options_->verify > 0 &&
        (options_->plan.survive == 0 || options_->objective != Objective::kLatency)) {
      return invalid("only plans for one answer that survive losses can be verified");
    }
    const Compiling compiling(*options_);
    // The executable copies the graph: failover plans from it long after compile() has returned.
    auto executable = std::make_unique<ClusterExecutable>(cluster_, options_, graph);
    SHOAL_TRY(executable->deploy());
    return executable;
  }

  // Not by compiling, which would deploy the model.
  Result<MemoryUse> memory_of(const Graph&) override {
    return Status(Code::kUnsupported, "the memory of a cluster depends on the plan");
  }

 private:
  const ClusterPtr cluster_;
  const OptionsPtr options_;
  const DeviceInfo info_;
};

// What several clients have compiled, each graph once. Thread-safe.
class SharedDevice {
 public:
  SharedDevice(ClusterPtr cluster, ClusterOptions options)
      : device_(std::move(cluster), std::move(options)) {}

  ClusterDevice& device() { return device_; }

  Result<std::shared_ptr<ClusterExecutable>> compile(const Graph& graph) {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<ClusterExecutable>& known = compiled_[to_text(graph)];
    if (auto executable = known.lock()) return executable;
    SHOAL_ASSIGN(std::shared_ptr<ClusterExecutable> executable, device_.deploy(graph));
    known = executable;
    return executable;
  }

 private:
  ClusterDevice device_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<ClusterExecutable>> compiled_;  // by the text of graphs
};

class ClientExecutable final : public Executable {
 public:
  ClientExecutable(std::shared_ptr<ClusterExecutable> shared, size_t client)
      : shared_(std::move(shared)), client_(client) {}

  Status run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
             const RunOptions& options) override {
    return shared_->run_for(client_, inputs, outputs, options);
  }
  const Graph& graph() const override { return shared_->graph(); }
  MemoryUse memory() const override { return shared_->memory(); }
  const KernelInfo& kernel_of(size_t node) const override { return shared_->kernel_of(node); }

 private:
  const std::shared_ptr<ClusterExecutable> shared_;
  const size_t client_;
};

class ClientDevice final : public Device {
 public:
  ClientDevice(std::shared_ptr<SharedDevice> shared, size_t client)
      : shared_(std::move(shared)), client_(client) {}

  const DeviceInfo& info() const override { return shared_->device().info(); }
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    SHOAL_ASSIGN(auto executable, shared_->compile(graph));
    return std::unique_ptr<Executable>(
        std::make_unique<ClientExecutable>(std::move(executable), client_));
  }
  Result<MemoryUse> memory_of(const Graph& graph) override {
    return shared_->device().memory_of(graph);
  }

 private:
  const std::shared_ptr<SharedDevice> shared_;
  const size_t client_;
};

}  // namespace

std::unique_ptr<Device> make_cluster_device(std::shared_ptr<ProfiledCluster> cluster,
                                            ClusterOptions options) {
  return std::make_unique<ClusterDevice>(std::move(cluster), std::move(options));
}

std::vector<std::unique_ptr<Device>> make_client_devices(std::shared_ptr<ProfiledCluster> cluster,
                                                         ClusterOptions options, size_t clients) {
  const auto shared = std::make_shared<SharedDevice>(std::move(cluster), std::move(options));
  std::vector<std::unique_ptr<Device>> all;
  for (size_t client = 0; client < clients; ++client) {
    all.push_back(std::make_unique<ClientDevice>(shared, client));
  }
  return all;
}

}  // namespace shoal::cluster
