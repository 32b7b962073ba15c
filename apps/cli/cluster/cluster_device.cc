// The cluster as a device, which owns the access to it.
#include "cluster_device.h"

#include <cstdio>

#include "cluster_access.h"
#include "shoal/cluster/device/cluster_device.h"
#include "watched_cluster.h"

namespace shoal::cli {
namespace {

// The destructor of the access reports replayed requests: only then is their number final.
void close(ClusterAccess* access) {
  const uint64_t replayed = access->coordinator().tally().replayed;
  if (replayed > 0) {
    std::fprintf(stderr, "replayed: %llu requests, because workers were lost\n",
                 static_cast<unsigned long long>(replayed));
  }
  delete access;
}

Result<std::shared_ptr<ClusterAccess>> open_shared(const PlanFlags& flags) {
  SHOAL_ASSIGN(auto opened, open_access(flags));
  return std::shared_ptr<ClusterAccess>(opened.release(), &close);
}

std::shared_ptr<cluster::ClusterConnection> connection_of(
    const std::shared_ptr<ClusterAccess>& access) {
  return {access, &access->connection()};
}

cluster::ClusterOptions options_for(const PlanFlags& flags,
                                    const std::shared_ptr<ClusterAccess>& access) {
  cluster::ClusterOptions options;
  using cluster::Objective;
  options.objective = flags.is_stream() ? Objective::kThroughput : Objective::kLatency;
  options.plan = options_of(flags);
  options.verify = flags.verify;
  options.left_out = [](const Status& why) {
    std::fprintf(stderr, "%s\n", std::string(why.message()).c_str());
  };
  return access->for_device(std::move(options));
}

}  // namespace

Result<std::unique_ptr<Device>> open_cluster_device(const PlanFlags& flags) {
  SHOAL_ASSIGN(const auto access, open_shared(flags));
  return cluster::make_cluster_device(connection_of(access), options_for(flags, access));
}

Result<WatchedCluster> open_watched_cluster(const PlanFlags& flags) {
  SHOAL_ASSIGN(const auto access, open_shared(flags));
  cluster::ClusterOptions options = options_for(flags, access);
  const auto view = std::make_shared<serve::ClusterView>(connection_of(access));
  options.planned = [view](const Graph& graph, const std::vector<plan::Prediction>& plans) {
    view->add(graph, plans.front());
  };
  return WatchedCluster{cluster::make_cluster_device(connection_of(access), std::move(options)),
                        view};
}

Result<std::vector<std::unique_ptr<Device>>> open_client_devices(const PlanFlags& flags,
                                                                 PlaceClients place,
                                                                 size_t clients) {
  SHOAL_ASSIGN(const auto access, open_shared(flags));
  cluster::ClusterOptions options = options_for(flags, access);
  options.place = std::move(place);
  return cluster::make_client_devices(connection_of(access), std::move(options), clients);
}

}  // namespace shoal::cli
