// The status of discovery where libavahi-client-dev was not there to build with.
#pragma once

#include "shoal/base/status.h"

namespace shoal::net {

inline Status discovery_not_built() {
  return Status(Code::kUnsupported,
                "this shoal was built without discovery (libavahi-client-dev); addresses are "
                "listed by 'shoal cluster add NAME ADDRESS'");
}

}  // namespace shoal::net
