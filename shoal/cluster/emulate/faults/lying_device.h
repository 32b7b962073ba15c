// LyingDevice: a device whose results are sometimes wrong, as those of a board whose memory has no
// error correction. It computes like the one it wraps, and flips one bit of every n-th result.
#pragma once

#include <cstdint>
#include <memory>

#include "shoal/engine/device/device.h"

namespace shoal::emulate {

// Which bit of which element is drawn from `seed`. REQUIRES: every > 0; the device outlives what is
// returned.
std::unique_ptr<Device> make_lying_device(Device& device, uint64_t every, uint64_t seed = 1);

}  // namespace shoal::emulate
