// Parts of Shoal that a build or a machine may lack, and how they can be had.
#pragma once

#include <string>
#include <string_view>

#include "shoal/base/status.h"

namespace shoal {

enum class Part { kGrpc, kVideo, kMqtt, kOpenCl, kVulkan, kDiscovery, kMpi, kClusters };

// Both ways to have it, by Debian's packages and from source: "gRPC comes with the Debian package
// shoal-grpc, or from source by ...".
std::string how_to_have(Part part);

// A failure: `what`, which names what is missing, and how to install its part.
Status part_missing(Part part, std::string_view what, Code code = Code::kUnsupported);

}  // namespace shoal
