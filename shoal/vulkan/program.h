// The pipelines of a graph: its shaders, compiled for a device.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "shoal/gpu/glsl.h"
#include "shoal/vulkan/context.h"

namespace shoal::vulkan {

// What a kernel with this many arguments is bound by.
struct Layout {
  SetLayoutHandle set;
  PipelineLayoutHandle pipeline;
};

struct Program {
  std::map<size_t, Layout> layouts;  // by the number of arguments
  std::vector<PipelineHandle> pipelines;
  std::vector<size_t> of;  // pipelines, by launch
};

// From the folder of programs, or compiled and kept there. A failure has what the compiler says.
Result<Program> build_program(const Context& context, std::span<const gpu::Launch> launches);

}  // namespace shoal::vulkan
