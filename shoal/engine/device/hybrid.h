// A device made of two: nodes that the first supports run there, the others on the fallback.
#pragma once

#include <cstdint>
#include <memory>

#include "shoal/engine/device/device.h"

#pragma GCC visibility push(default)

namespace shoal {

// The traffic between the two devices in one run. A value that several parts of the other device
// read travels once. Inputs and outputs of the whole graph are the caller's and do not count.
struct Crossings {
  int64_t values = 0;
  int64_t bytes = 0;
  int64_t parts = 1;  // of the graph, each on one device
};

// The cut is by Device::supports(), into as few parts as a strict alternation of the two devices
// allows (see cut.h). A graph that one device supports as a whole is compiled by that device alone.
// compile() fails with kUnsupported and the node's name if neither supports a node.
//
// Executable::graph() has all parts, one after the other, as executed. Thread-safe if both devices
// are; outlives what it compiled.
std::unique_ptr<Device> make_hybrid_device(std::unique_ptr<Device> first,
                                           std::unique_ptr<Device> fallback);

// The first device of a hybrid device, owned by it; any other device itself.
Device& first_device(Device& device);

// The crossings of an executable that a hybrid device compiled; none and one part for any other.
Crossings crossings_of(const Executable& executable);

}  // namespace shoal

#pragma GCC visibility pop
