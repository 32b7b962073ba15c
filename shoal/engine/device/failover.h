// A device that hands over to another one when it fails: its memory does not suffice, its driver
// does not compile a program, or it is gone.
#pragma once

#include <memory>

#include "shoal/engine/device/device.h"

#pragma GCC visibility push(default)

namespace shoal {

// What `first` cannot compile is compiled by `second`. A run of `first` that fails is repeated on
// `second`, and the runs after it go there at once. Failures by a deadline, by cancellation or of
// the caller are not concerned, and values that only a lost device has are lost. Takes its
// properties from `first`; outlives what it compiled.
std::unique_ptr<Device> make_failover_device(std::unique_ptr<Device> first,
                                             std::unique_ptr<Device> second);

}  // namespace shoal

#pragma GCC visibility pop
