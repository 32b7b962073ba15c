#include "cluster_device.h"

#include <cstdio>

#include "../folders.h"
#include "cluster_access.h"
#include "plan_store.h"
#include "shoal/cluster/cluster_device.h"

namespace shoal::cli {
namespace {

class RemoteDevice final : public Device {
 public:
  RemoteDevice(std::unique_ptr<ClusterAccess> access, const PlanFlags& flags)
      : access_(std::move(access)) {
    cluster::ClusterOptions options;
    options.plan = options_of(flags);
    options.make_plans = [](const auto& graph, const auto& cluster, const auto& plan_options) {
      return make_or_load_plans(cache_folder(), graph, cluster, plan_options);
    };
    options.profile = [this](const Graph& graph) { return access_->profile(graph); };
    options.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(options.timeout *
                                                                            access_->dilation());
    // What is deployed between requests would travel by emulated links, too.
    options.standby = !access_->emulated();
    options.retry_interval = std::chrono::seconds(1);
    device_ = cluster::make_cluster_device(access_->coordinator(), std::move(options));
  }

  ~RemoteDevice() override {
    const uint64_t replayed = access_->coordinator().tally().replayed;
    if (replayed == 0) return;
    std::fprintf(stderr, "replayed: %llu requests, because workers were lost\n",
                 static_cast<unsigned long long>(replayed));
  }

  const DeviceInfo& info() const override { return device_->info(); }

  // Emulated links are slow for requests only.
  Result<std::unique_ptr<Executable>> compile(const Graph& graph) override {
    access_->shape(false);
    auto executable = device_->compile(graph);
    access_->shape(true);
    return executable;
  }

 private:
  const std::unique_ptr<ClusterAccess> access_;
  std::unique_ptr<Device> device_;
};

}  // namespace

Result<std::unique_ptr<Device>> open_cluster_device(const PlanFlags& flags) {
  SHOAL_ASSIGN(auto access, ClusterAccess::open(flags));
  return std::unique_ptr<Device>(std::make_unique<RemoteDevice>(std::move(access), flags));
}

}  // namespace shoal::cli
