// The pipelines of a graph: its shaders, compiled for a device.
#pragma once

#include <memory>
#include <vector>

#include "shoal/engine/gpu/source/glsl.h"
#include "shoal/engine/vulkan/vulkan_context.h"

namespace shoal::vulkan {

struct Program {
  Layouts layouts;
  std::vector<Pipeline> pipelines;
  std::vector<size_t> of;  // pipelines, by launch
};

// Those that are not known are taken from the folder of programs, or compiled and kept there. A
// failure has what the compiler says.
Result<Program> build_program(const Context& context, std::span<const gpu::Launch> launches);

}  // namespace shoal::vulkan
