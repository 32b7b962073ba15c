#include "shoal/serve/engine/door.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>
#include <vector>

namespace shoal::serve {
namespace {

constexpr const char* kFile = "shoal_grpc.so";

// Beside the program, where it is built, and in its place in the system.
std::vector<std::filesystem::path> places() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return {};
  const auto folder = program.parent_path();
  return {folder / kFile, folder.parent_path() / SHOAL_LIBDIR / "shoal" / kFile};
}

}  // namespace

// The library is never unloaded: gRPC has threads of its own.
Result<std::unique_ptr<Door>> open_grpc_door(Backend& backend, const DoorOptions& options) {
  void* library = nullptr;
  std::string why = "there is no " + std::string(kFile);
  for (const auto& path : places()) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    why = ::dlerror();
  }
  const auto unsupported = [](const std::string& reason) {
    return Status(Code::kUnsupported, "gRPC cannot be had: " + reason);
  };
  if (library == nullptr) return unsupported(why);
  const auto open = reinterpret_cast<OpenDoor*>(::dlsym(library, "shoal_open_grpc_door"));
  const auto version = reinterpret_cast<DoorVersion*>(::dlsym(library, "shoal_grpc_door_version"));
  if (open == nullptr || version == nullptr || backend.version() != version()) {
    return unsupported(std::string(kFile) + " is of another version");
  }
  Status failure;
  std::unique_ptr<Door> door(open(backend, options, failure));
  if (door == nullptr) return failure;
  return door;
}

}  // namespace shoal::serve
