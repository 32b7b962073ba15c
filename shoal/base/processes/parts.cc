#include "shoal/base/processes/parts.h"

#include <array>

namespace shoal {
namespace {

struct Origin {
  Part part;
  std::string_view name;
  std::string_view packages;  // Debian's; empty: none of Shoal's has it
  std::string_view group;     // of packages.txt; empty: only CMake's option leaves it out
};

constexpr auto kOrigins = std::to_array<Origin>({
    {Part::kGrpc, "gRPC", "package shoal-grpc", "grpc"},
    {Part::kVideo, "video", "package shoal-video", "video"},
    {Part::kMqtt, "MQTT", "packages shoal and libmosquitto1", "mqtt"},
    {Part::kOpenCl, "OpenCL",
     "packages shoal, ocl-icd-libopencl1 and a driver such as pocl-opencl-icd", "opencl"},
    {Part::kVulkan, "Vulkan", "", "vulkan"},
    {Part::kDiscovery, "discovery", "packages shoal and avahi-daemon", "avahi"},
    {Part::kMpi, "MPI", "", "mpi"},
    {Part::kClusters, "the cluster", "package shoal", ""},
});

// `make build` looks for MPI if asked to; `make all` always does.
std::string from_source(const Origin& origin) {
  if (origin.part == Part::kMpi) return "'make all'";
  if (origin.group.empty()) return "'make all' without SHOAL_CLUSTER=OFF";
  return "'tools/setup " + std::string(origin.group) + " && make build' or 'make all'";
}

}  // namespace

std::string how_to_have(Part part) {
  for (const Origin& origin : kOrigins) {
    if (origin.part != part) continue;
    const std::string name(origin.name);
    if (origin.packages.empty()) {
      return name + " is in no Debian package of Shoal; it comes from source by " +
             from_source(origin);
    }
    return name + " comes with the Debian " + std::string(origin.packages) +
           ", or from source by " + from_source(origin);
  }
  return {};
}

Status part_missing(Part part, std::string_view what, Code code) {
  return Status(code, std::string(what) + "; " + how_to_have(part));
}

}  // namespace shoal
