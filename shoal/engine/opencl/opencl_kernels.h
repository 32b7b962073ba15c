// Programs of OpenCL, and the kernels in them.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "shoal/engine/gpu/device/known_kernels.h"
#include "shoal/engine/opencl/opencl_handle.h"

namespace shoal::opencl {

struct Program {
  std::string source;
  ProgramHandle handle;
  std::atomic<bool> is_kept = false;  // for the next start
};

struct Kernel {
  std::shared_ptr<Program> program = {};  // null: the kernel is not known
  std::string name = {};
};

}  // namespace shoal::opencl
