// Links: the links of an emulated cluster, as one of its machines has them.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>

#include "shoal/base/status.h"
#include "shoal/cluster/emulate/machines/emulation.h"
#include "shoal/cluster/net/transport.h"

namespace shoal::emulate {

// Whether links are slow: a flag that all machines of the folder share, false at first. Weights are
// sent before it is set.
Result<std::shared_ptr<std::atomic<bool>>> open_shaping(const std::filesystem::path& media);

// A decorator that slows down everything that machine `self` (a worker's number, or
// plan::kCoordinator) sends, according to its link to each peer. Peers are known by the names of
// workers; any other peer is a coordinator.
Result<std::shared_ptr<const net::Decorator>> make_links(const Emulation& emulation, int self);

}  // namespace shoal::emulate
