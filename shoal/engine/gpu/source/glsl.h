// Kernels as compute shaders in GLSL 4.5, for Vulkan.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shoal/engine/gpu/work.h"

namespace shoal::gpu {

// The shaders of a graph. Launches whose kernels are equal share one.
//
// Argument i of a launch is the storage buffer at binding i of set 0. A shader has one push
// constant, an int: the first group along axis 0, so that a grid may be launched in parts where a
// device limits that axis. f16 needs storageBuffer16BitAccess of the device.
struct Shaders {
  std::vector<std::string> sources;
  std::vector<size_t> of;  // by launch
};

Shaders glsl_shaders(std::span<const Launch> launches);

}  // namespace shoal::gpu
