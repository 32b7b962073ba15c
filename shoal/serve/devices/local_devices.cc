#include "shoal/serve/devices/local_devices.h"

#include <algorithm>

#include "shoal/base/machine/machine.h"
#include "shoal/engine/devices/devices.h"

namespace shoal::serve {

DeviceList devices_here(const std::string& used, int threads) {
  const Machine machine = describe_machine();
  DeviceList list;
  const std::string kind_used = used.substr(0, used.find(':'));
  for (const DeviceKind& kind : device_kinds()) {
    const bool computes = kind.name == kind_used;
    if (!computes && !kind.is_local) continue;
    DeviceEntry& one = list.devices.emplace_back();
    one = {.name = computes ? used : kind.name,
           .role = computes ? "computes" : "idle",
           .kind = kind.name == "cpu" ? machine.processor : kind.summary};
    if (!computes) continue;
    one.threads = threads;
    one.load = machine.load;
    one.memory_bytes = machine.memory_bytes;
    one.free_bytes = machine.free_bytes;
  }
  std::stable_partition(list.devices.begin(), list.devices.end(),
                        [](const auto& one) { return one.role == "computes"; });
  return list;
}

}  // namespace shoal::serve
