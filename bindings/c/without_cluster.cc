// In the place of cluster.cc where the library is built without clusters.
#include "handles.h"

namespace shoal::c {

const char* cluster_name() { return nullptr; }

Result<std::unique_ptr<Device>> open_cluster_device(const shoal_device_options&) {
  return Status(Code::kUnsupported, "this library was built without clusters");
}

}  // namespace shoal::c
