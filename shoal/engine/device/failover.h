// A device that hands over to another one when it fails: too little memory, a program that its
// driver does not compile, or a lost device.
#pragma once

#include <memory>

#include "shoal/engine/device/device.h"

#pragma GCC visibility push(default)

namespace shoal {

// Graphs that `first` cannot compile are compiled by `second`. A run that fails on `first` is
// repeated on `second`, as are all later runs, except for failures by a deadline, by cancellation
// or of the caller. Values in a lost device's memory are lost. Has the properties of `first`;
// outlives what it compiled.
std::unique_ptr<Device> make_failover_device(std::unique_ptr<Device> first,
                                             std::unique_ptr<Device> second);

}  // namespace shoal

#pragma GCC visibility pop
