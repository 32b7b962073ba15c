// The latency table of the place where a smaller network will run: this machine, which is measured,
// or a device of which there is a profile.
#pragma once

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/prune/latency/tabulate.h"
#include "shoal/shrink/prune/shrink_options.h"
#include "shoal/shrink/retraining/networks.h"

namespace shoal::shrink {

// The table for options.device; where that is empty, of `runs`, and scaled to the time that the
// network takes there by itself if options.measure_seconds allows to measure it. Fails as
// tabulate(), the device and plan::find_device() do. REQUIRES: `groups` are those of the network
// for one example.
Result<LatencyTable> table_for(const NetworkForBatch& network, const compress::Groups& groups,
                               const ShrinkOptions& options, Device& runs,
                               const TableOptions& how = {});

}  // namespace shoal::shrink
