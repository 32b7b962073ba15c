#include "shoal/opencl/api.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>

#ifdef __SANITIZE_ADDRESS__
#define SHOAL_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHOAL_ADDRESS_SANITIZER
#endif
#endif
#ifdef SHOAL_ADDRESS_SANITIZER
// PoCL and its compiler keep memory until the process ends; what Shoal leaks is still found.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libpocl\nleak:libLLVM\n"; }
#endif

namespace shoal::opencl {
namespace {

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

Result<std::shared_ptr<const Api>> load() {
  // Never closed: drivers keep threads.
  void* library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return Status(Code::kUnavailable, "there is no OpenCL: libOpenCL.so.1 cannot be loaded");
  }
  auto api = std::make_shared<Api>();
  const char* missing = nullptr;
#define SHOAL_CL(name) \
  if (!find(library, #name, api->name)) missing = #name;
#include "shoal/opencl/functions.inc"
#undef SHOAL_CL
  if (missing != nullptr) {
    return Status(Code::kUnavailable, "libOpenCL.so.1 lacks " + std::string(missing));
  }
  return std::shared_ptr<const Api>(std::move(api));
}

struct Error {
  cl_int number;
  Code code;
  std::string_view text;
};

constexpr auto kErrors = std::to_array<Error>({
    {CL_DEVICE_NOT_FOUND, Code::kUnavailable, "there is no such device"},
    {CL_DEVICE_NOT_AVAILABLE, Code::kUnavailable, "the device is gone"},
    {CL_COMPILER_NOT_AVAILABLE, Code::kUnsupported, "the device has no compiler"},
    {CL_MEM_OBJECT_ALLOCATION_FAILURE, Code::kExhausted, "out of the device's memory"},
    {CL_OUT_OF_RESOURCES, Code::kExhausted, "out of the device's resources"},
    {CL_OUT_OF_HOST_MEMORY, Code::kExhausted, "out of host memory"},
    {CL_INVALID_BUFFER_SIZE, Code::kExhausted, "a buffer is larger than the device allows"},
    {CL_BUILD_PROGRAM_FAILURE, Code::kInternal, "a program does not compile"},
    {CL_INVALID_COMMAND_QUEUE, Code::kUnavailable, "the device is gone"},
    {CL_INVALID_CONTEXT, Code::kUnavailable, "the device is gone"},
    {CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, Code::kUnavailable,
     "the device failed at a command before"},
    {-1001, Code::kUnavailable, "no OpenCL driver is installed"},  // of the ICD loader
    {-9999, Code::kUnavailable, "the device failed"},              // of NVIDIA's driver
});

}  // namespace

Result<std::shared_ptr<const Api>> open_api() {
  static const Result<std::shared_ptr<const Api>> opened = load();
  return opened;
}

Status status_of(cl_int error, std::string_view what) {
  if (error == CL_SUCCESS) return {};
  const auto* known = std::ranges::find(kErrors, error, &Error::number);
  const bool is_known = known != kErrors.end();
  const std::string text = is_known ? std::string(known->text) : "OpenCL failed";
  return Status(is_known ? known->code : Code::kInternal,
                std::string(what) + ": " + text + " (error " + std::to_string(error) + ")");
}

}  // namespace shoal::opencl
