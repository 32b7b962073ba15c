#include "shoal/serve/engine/door.h"

#include <dlfcn.h>

#include "shoal/base/processes/module.h"
#include "shoal/base/processes/parts.h"

namespace shoal::serve {

// The library is never unloaded: gRPC has its own threads.
Result<std::unique_ptr<Door>> open_grpc_door(Backend& backend, const DoorOptions& options) {
  const std::string file = "shoal_grpc.so";
  const auto unsupported = [](const std::string& reason) {
    return part_missing(Part::kGrpc, "gRPC cannot be had: " + reason);
  };
  const Result<void*> opened = open_module(file);
  if (!opened.ok()) return unsupported(std::string(opened.status().message()));
  void* library = *opened;
  const auto open = reinterpret_cast<OpenDoor*>(::dlsym(library, "shoal_open_grpc_door"));
  const auto version = reinterpret_cast<DoorVersion*>(::dlsym(library, "shoal_grpc_door_version"));
  if (open == nullptr || version == nullptr || backend.version() != version()) {
    return unsupported(file + " is of another version");
  }
  Status failure;
  std::unique_ptr<Door> door(open(backend, options, failure));
  if (door == nullptr) return failure;
  return door;
}

}  // namespace shoal::serve
