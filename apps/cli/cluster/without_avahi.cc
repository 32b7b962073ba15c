// In place of apps/cli/cluster/avahi/ where the library was not there to build with.
#include "discovery.h"

namespace shoal::cli {
namespace {

Status not_built() {
  return Status(Code::kUnsupported,
                "this shoal was built without discovery (libavahi-client-dev); addresses are "
                "listed by 'shoal cluster add NAME ADDRESS'");
}

}  // namespace

Result<std::unique_ptr<Announcement>> announce(const std::string&, uint16_t) { return not_built(); }

Result<std::vector<cluster::ListedWorker>> discover(std::chrono::milliseconds) {
  return not_built();
}

}  // namespace shoal::cli
