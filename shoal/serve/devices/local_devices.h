// The devices of this machine, one of which computes: GET /v2/devices without a cluster.
#pragma once

#include <string>

#include "shoal/serve/protocol/device_list.h"

namespace shoal::serve {

// The device `used`, a name as make_device() takes it, on `threads` threads, comes first; then the
// other kinds that could be used.
DeviceList devices_here(const std::string& used, int threads);

}  // namespace shoal::serve
