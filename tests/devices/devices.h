// The devices that tests run the laws on: one list for all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "shoal/engine/device/device.h"

namespace shoal {

// Every local kind of device; the CPU with one and with two threads; and hybrids of the CPU and
// the reference, cut at random. Made once.
std::span<const std::unique_ptr<Device>> all_devices();

// As `device`, but supports() is random for every node: the same for equal seed, graph and node.
std::unique_ptr<Device> make_moody_device(std::unique_ptr<Device> device, uint64_t seed);

}  // namespace shoal
