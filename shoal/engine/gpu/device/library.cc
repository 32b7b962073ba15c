#include "shoal/engine/gpu/device/library.h"

#include <algorithm>
#include <string>

namespace shoal::gpu {

Result<void*> open_library(Part part, std::initializer_list<const char*> files) {
  for (const char* file : files) {
    if (void* library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return part_missing(part, std::string(*files.begin()) + " cannot be loaded", Code::kUnavailable);
}

Status failure_of(std::string_view api, std::span<const CallError> known, int64_t error,
                  std::string_view what) {
  const auto found = std::ranges::find(known, error, &CallError::number);
  const bool is_known = found != known.end();
  const std::string text = is_known ? std::string(found->text) : std::string(api) + " failed";
  return Status(is_known ? found->code : Code::kInternal,
                std::string(what) + ": " + text + " (error " + std::to_string(error) + ")");
}

}  // namespace shoal::gpu
