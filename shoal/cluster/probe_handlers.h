// Examination: what a worker finds out when it is asked about itself and the way to it.
#pragma once

#include <cstddef>
#include <mutex>

#include "shoal/base/status.h"
#include "shoal/cluster/wire.h"
#include "shoal/device/device.h"
#include "shoal/net/transport.h"

namespace shoal::cluster {

namespace message {
class Echo;
class Measure;
}  // namespace message

inline constexpr size_t kMostEchoBytes = size_t{32} << 20;
inline constexpr int kMostMeasuredGraphs = 4096;

// Answers at once.
Status echo(net::Channel& channel, const message::Echo& echo);

// How long the graphs in the payload take, as the message that says so. Weights that did not come
// are made up, of `weight_bytes` at most. The device is used under the lock, a graph at a time.
Result<message::Message> time_graphs(Device& device, const message::Measure& measure,
                                     const net::Frame& frame, size_t weight_bytes,
                                     std::mutex& computing);

}  // namespace shoal::cluster
