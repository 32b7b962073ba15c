#include "shoal/base/processes/parts.h"

#include <gtest/gtest.h>

#include <array>

namespace shoal {
namespace {

constexpr auto kAll =
    std::to_array<Part>({Part::kGrpc, Part::kVideo, Part::kMqtt, Part::kOpenCl, Part::kVulkan,
                         Part::kDiscovery, Part::kMpi, Part::kClusters});

TEST(Parts, CanBeHadInTwoWays) {
  EXPECT_EQ(how_to_have(Part::kGrpc),
            "gRPC comes with the Debian package shoal-grpc, or from source by 'tools/setup grpc && "
            "make build' or 'make all'");
  EXPECT_EQ(how_to_have(Part::kMpi),
            "MPI is in no Debian package of Shoal; it comes from source by 'make all'");
  for (const Part part : kAll) {
    const std::string how = how_to_have(part);
    EXPECT_NE(how.find("Debian"), how.npos) << how;
    EXPECT_NE(how.find("from source by '"), how.npos) << how;
    EXPECT_NE(how.find("make all"), how.npos) << how;
    EXPECT_EQ(how.find("--"), how.npos) << "no flags: callers may have none: " << how;
  }
}

TEST(Parts, AreNamedAfterWhatIsMissing) {
  const Status missing = part_missing(Part::kVideo, "there is no shoal-decode");
  EXPECT_EQ(missing.code(), Code::kUnsupported);
  EXPECT_EQ(missing.message(), "there is no shoal-decode; " + how_to_have(Part::kVideo));
  EXPECT_EQ(part_missing(Part::kOpenCl, "no driver", Code::kUnavailable).code(),
            Code::kUnavailable);
}

}  // namespace
}  // namespace shoal
