// MemoryStream: two ends of a byte stream in memory.
#pragma once

#include <memory>
#include <utility>

#include "shoal/cluster/net/stream.h"

namespace shoal::net {

// Each direction holds about `capacity` bytes before its writer has to wait.
std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> make_memory_streams(size_t capacity);

}  // namespace shoal::net
