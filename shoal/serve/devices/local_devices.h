// The devices of this machine, of which one computes: what GET /v2/devices shows where there is no
// cluster.
#pragma once

#include <string>

#include "shoal/serve/protocol/device_list.h"

namespace shoal::serve {

// The device `used`, a name as make_device() takes it, by so many threads, comes first; then the
// kinds that could be used in its place.
DeviceList devices_here(const std::string& used, int threads);

}  // namespace shoal::serve
