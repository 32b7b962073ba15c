// Owners of OpenCL's objects.
#pragma once

#include <memory>
#include <utility>

#include "shoal/engine/opencl/opencl_api.h"

namespace shoal::opencl {

// Releases an object through the table it came from.
template <class T, auto release>
class Handle {
 public:
  Handle() = default;
  Handle(std::shared_ptr<const Api> api, T object) : api_(std::move(api)), object_(object) {}
  Handle(Handle&& other) noexcept
      : api_(std::move(other.api_)), object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() {
    if (object_ != nullptr) static_cast<void>(((*api_).*release)(object_));
  }
  T get() const { return object_; }

 private:
  std::shared_ptr<const Api> api_;
  T object_ = nullptr;
};

using ContextHandle = Handle<cl_context, &Api::clReleaseContext>;
using QueueHandle = Handle<cl_command_queue, &Api::clReleaseCommandQueue>;
using BufferHandle = Handle<cl_mem, &Api::clReleaseMemObject>;
using ProgramHandle = Handle<cl_program, &Api::clReleaseProgram>;
using KernelHandle = Handle<cl_kernel, &Api::clReleaseKernel>;
using EventHandle = Handle<cl_event, &Api::clReleaseEvent>;

}  // namespace shoal::opencl
