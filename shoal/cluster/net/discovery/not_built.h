// The status of discovery where it is not built.
#pragma once

#include "shoal/base/processes/parts.h"

namespace shoal::net {

inline Status discovery_not_built() {
  return part_missing(Part::kDiscovery,
                      "this shoal was built without discovery, and addresses are listed by 'shoal "
                      "cluster add NAME ADDRESS'");
}

}  // namespace shoal::net
