#include "places.h"

#include <cstdlib>

#include "../folders.h"

namespace shoal::cli {

std::filesystem::path default_cluster_folder() {
  const char* given = std::getenv("SHOAL_CLUSTER_DIR");
  return given != nullptr && *given != '\0' ? std::filesystem::path(given)
                                            : config_folder() / "cluster";
}

std::filesystem::path default_worker_folder() { return config_folder() / "worker"; }

Exit exit_of(const Status& status) {
  switch (status.code()) {
    case Code::kDeadline:
      return Exit::kTimeout;
    case Code::kExhausted:
      return Exit::kResources;
    case Code::kUnavailable:
    case Code::kUnsupported:  // another version
      return Exit::kNetwork;
    default:  // what a certificate that is refused gives
      return Exit::kAuth;
  }
}

}  // namespace shoal::cli
