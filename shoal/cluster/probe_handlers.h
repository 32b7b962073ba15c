// Handlers of a worker for the questions of a WorkerProbe.
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

// Replies with as many bytes as the message asks for, kMostEchoBytes at most.
Status echo(net::Channel& channel, const message::Echo& echo);

// Times the graphs in the payload, and returns the reply. Weights are not sent: they are made up,
// `weight_bytes` at most. Locks `computing` while it uses the device, for one graph at a time.
Result<message::Message> time_graphs(Device& device, const message::Measure& measure,
                                     const net::Frame& frame, size_t weight_bytes,
                                     std::mutex& computing);

}  // namespace shoal::cluster
