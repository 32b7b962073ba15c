#include "cluster_access.h"

#include <algorithm>
#include <optional>

#include "places.h"
#include "shoal/cluster/folder.h"

namespace shoal::cli {
namespace {

// How long the first, or the last, radio takes to fall asleep. Nothing where none does.
std::chrono::milliseconds sleep_after(const plan::ClusterProfile& profile, double dilation,
                                      const double& (*which)(const double&, const double&)) {
  std::optional<double> seconds;
  for (const plan::LinkProfile& link : profile.links) {
    if (link.wakeup_seconds <= 0) continue;
    seconds = which(seconds.value_or(link.sleep_after_seconds), link.sleep_after_seconds);
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::duration<double>(seconds.value_or(0) * dilation));
}

}  // namespace

Result<std::unique_ptr<ClusterAccess>> ClusterAccess::open() {
  std::unique_ptr<ClusterAccess> access(new ClusterAccess);
  access->emulation_ = Emulation::of_environment();
  const cluster::ClusterFolder folder(default_cluster_folder());
  SHOAL_ASSIGN(const net::Identity identity, folder.coordinator());
  SHOAL_ASSIGN(access->transport_, make_transport(identity, access->emulation_, ""));
  SHOAL_ASSIGN(const std::vector<cluster::ListedWorker> workers, folder.workers());
  if (workers.empty()) {
    return Status(Code::kNotFound, "the cluster has no workers: see 'shoal cluster invite'");
  }
  std::vector<std::string> addresses;
  for (const cluster::ListedWorker& worker : workers) addresses.push_back(worker.address);
  cluster::CoordinatorOptions options;
  if (access->emulated()) {
    SHOAL_ASSIGN(const emulate::EmulatedLinks links, access->emulation_.as(""));
    if (links.cluster.keep_awake) {
      options.keep_awake = sleep_after(links.cluster, links.dilation, std::min<double>) / 2;
    }
    access->lull_ = sleep_after(links.cluster, links.dilation, std::max<double>) * 3 / 2;
    SHOAL_ASSIGN(access->shaping_, emulate::open_shaping(links));
  }
  SHOAL_ASSIGN(access->coordinator_,
               cluster::Coordinator::connect(addresses, *access->transport_, options));
  return access;
}

Result<plan::ClusterProfile> ClusterAccess::profile() const {
  if (!emulated()) return Status(Code::kUnsupported, "the workers have not been measured");
  SHOAL_ASSIGN(const emulate::EmulatedLinks links, emulation_.as(""));
  return links.cluster;
}

void ClusterAccess::shape(bool on) const {
  if (shaping_ != nullptr) shaping_->store(on);
}

}  // namespace shoal::cli
