// LyingDevice: a device whose results are sometimes wrong, like those of a board whose memory has
// no error correction. It wraps another device and flips one bit of every n-th result.
#pragma once

#include <cstdint>
#include <memory>

#include "shoal/engine/device/device.h"

namespace shoal::emulate {

// `seed` determines the bit and the element. REQUIRES: every > 0; the device outlives the result.
std::unique_ptr<Device> make_lying_device(Device& device, uint64_t every, uint64_t seed = 1);

}  // namespace shoal::emulate
