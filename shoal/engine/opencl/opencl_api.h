// The functions of OpenCL 1.2 that Shoal calls, from the ICD loader that this machine has. The
// loader is opened when it is needed, so that one binary runs with and without it.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "shoal/base/status.h"
#include "shoal/engine/gpu/device/library.h"

namespace shoal::opencl {

// A table, so that tests can inject failures.
struct Api {
#define SHOAL_CL(name) decltype(&::name) name = nullptr;
#include "shoal/engine/opencl/opencl_functions.inc"
#undef SHOAL_CL
};

// kUnavailable if this machine has no OpenCL. Opened once.
Result<std::shared_ptr<const Api>> open_api();

// The status of a call: kExhausted if memory ran out, kUnavailable if the device is lost, kInternal
// for other errors.
Status status_of(cl_int error, std::string_view what);

// Owners of OpenCL's objects, released through the table that made them.
template <auto release>
struct Releaser {
  Releaser() = default;
  Releaser(std::shared_ptr<const Api> table) : api(std::move(table)) {}
  void operator()(auto object) const { static_cast<void>(((*api).*release)(object)); }

  std::shared_ptr<const Api> api;
};
template <class T, auto release>
using Handle = gpu::Handle<T, Releaser<release>>;
using ContextHandle = Handle<cl_context, &Api::clReleaseContext>;
using QueueHandle = Handle<cl_command_queue, &Api::clReleaseCommandQueue>;
using BufferHandle = Handle<cl_mem, &Api::clReleaseMemObject>;
using ProgramHandle = Handle<cl_program, &Api::clReleaseProgram>;
using KernelHandle = Handle<cl_kernel, &Api::clReleaseKernel>;
using EventHandle = Handle<cl_event, &Api::clReleaseEvent>;

}  // namespace shoal::opencl
