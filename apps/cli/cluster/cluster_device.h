// The cluster of this user as a device, for commands that run a model.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "../exit_codes.h"
#include "../planning.h"
#include "apps/commands/model_settings.h"
#include "shoal/engine/device/device.h"

namespace shoal::cli {

// Plans follow the flags. The device outlives its executables.
Result<std::unique_ptr<Device>> open_cluster_device(const PlanFlags& flags);

// Likewise if the flags ask for a cluster, or else the local device.
inline Result<std::unique_ptr<Device>> open_device(const PlanFlags& flags,
                                                   const config::DeviceSettings& here) {
  return flags.is_on_cluster() ? open_cluster_device(flags) : make_device(here);
}
// Neither of them could be opened.
inline Outcome fail_opening(const PlanFlags& flags, const Status& why) {
  return fail(flags.is_on_cluster() ? exit_of(Doing::kConnect, why) : Exit::kDevice, why);
}

// Gives each of several clients a worker of the set.
using PlaceClients = std::function<std::vector<int>(const Graph&, const plan::ClusterProfile&,
                                                    const std::set<int>& workers)>;

// A device for each of `count` clients. Every worker has the whole network, and answers the clients
// that `place` gives it.
Result<std::vector<std::unique_ptr<Device>>> open_client_devices(const PlanFlags& flags,
                                                                 PlaceClients place,
                                                                 size_t clients);

}  // namespace shoal::cli
