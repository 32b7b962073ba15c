// Options of all GPU devices.
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace shoal {

// How elements of weights and values are stored; inputs and outputs of a graph are f32. Sums are
// f32, too; products are of f16 where the device has matrix units.
enum class GpuPrecision : uint8_t { kF32, kF16 };

// Whether kernels share elements of a group in local memory.
enum class GpuLocalMemory : uint8_t {
  kAuto,  // if the device has dedicated local memory
  kOn,
  kOff,
};

}  // namespace shoal

#pragma GCC visibility pop
