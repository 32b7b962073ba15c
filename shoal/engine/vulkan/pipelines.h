// What kernels of Vulkan are bound by, and the kernels.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "shoal/engine/gpu/device/known_kernels.h"
#include "shoal/engine/vulkan/vulkan_handle.h"

namespace shoal::vulkan {

// What a kernel with this many arguments is bound by.
struct Layout {
  SetLayoutHandle set;
  PipelineLayoutHandle pipeline;
};

using Layouts = std::map<size_t, std::shared_ptr<const Layout>>;  // by the number of arguments
using Pipeline = std::shared_ptr<const PipelineHandle>;

// All that were made for a device. Thread-safe.
struct KnownPipelines {
  gpu::KnownKernels<Pipeline> pipelines;
  std::mutex mutex;  // of the layouts
  Layouts layouts;
};

}  // namespace shoal::vulkan
