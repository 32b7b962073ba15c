#include "shoal/engine/opencl/opencl_api.h"

#include <array>

#include "shoal/engine/gpu/device/library.h"

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

Result<std::shared_ptr<const Api>> load() {
  SHOAL_ASSIGN(void* const library, gpu::open_library(Part::kOpenCl, {"libOpenCL.so.1"}));
  auto api = std::make_shared<Api>();
  const char* missing = nullptr;
#define SHOAL_CL(name) \
  if (!gpu::find_function(library, #name, api->name)) missing = #name;
#include "shoal/engine/opencl/opencl_functions.inc"
#undef SHOAL_CL
  if (missing != nullptr) {
    return Status(Code::kUnavailable, "libOpenCL.so.1 lacks " + std::string(missing));
  }
  return std::shared_ptr<const Api>(std::move(api));
}

constexpr auto kErrors = std::to_array<gpu::CallError>({
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
  return error == CL_SUCCESS ? Status() : gpu::failure_of("OpenCL", kErrors, error, what);
}

}  // namespace shoal::opencl
