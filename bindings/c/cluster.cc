// Clusters for C, where the library was built with them.
#include "shoal/cluster/cluster.h"

#include <chrono>

#include "handles.h"

namespace shoal::c {

const char* cluster_name() { return "cluster"; }

Result<std::unique_ptr<Device>> open_cluster_device(const shoal_device_options& options) {
  constexpr double kLongest = 1e6;  // seconds
  if (!(options.timeout_seconds >= 0 && options.timeout_seconds <= kLongest)) {
    return invalid("timeout_seconds is 0 to a million");
  }
  if (options.survive < 0 || options.survive > 2) return invalid("0 to 2 losses can be survived");
  OpenClusterOptions cluster{.survive = options.survive};
  if (options.timeout_seconds > 0) {
    cluster.timeout = std::chrono::ceil<std::chrono::milliseconds>(
        std::chrono::duration<double>(options.timeout_seconds));
  }
  return open_cluster(cluster);
}

}  // namespace shoal::c
